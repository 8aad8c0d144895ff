import { randomUUID } from 'node:crypto';
import { LEADS_PATH } from '@leadtap/contract';
import { issueToken, type TokenScope } from 'leadtap';
import type { TestService } from './service.ts';

export interface Acknowledgement {
  readonly leads: readonly {
    readonly id: string;
    readonly createdAt: string;
    readonly result: 'added' | 'updated';
  }[];
}

export interface SendOptions {
  /** Default: `boss`, who sees the whole company. */
  readonly userId?: string;
  /** Default: `leads:write` alone. */
  readonly scopes?: readonly TokenScope[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the same for all requests of a user. */
  readonly tokenId?: string;
}

/** A token with these scopes. */
export const tokenWith = (
  { service }: Pick<TestService, 'service'>,
  userId: string,
  scopes: readonly TokenScope[],
  tokenId: string = randomUUID(),
): Promise<string> =>
  issueToken(service.keys, {
    userId,
    tokenId,
    issuedAt: Date.now() - 1000,
    expiresAt: Date.now() + 3_600_000,
    scopes,
  });

/** Sends a body as it is. */
export async function sendBody(
  test: TestService,
  body: RequestInit['body'],
  {
    userId = 'boss',
    scopes = ['leads:write'],
    headers = {},
    tokenId = `token-of-${userId}`,
  }: SendOptions = {},
): Promise<Response> {
  const authorization = `Bearer ${await tokenWith(test, userId, scopes, tokenId)}`;
  return fetch(`${test.url}${LEADS_PATH}`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body }),
  });
}

/** Sends JSON: one lead, or an array. */
export const sendLeads = (test: TestService, leads: unknown, options?: SendOptions): Promise<Response> =>
  sendBody(test, JSON.stringify(leads), options);

/** Sends an HTML form. */
export const sendForm = (
  test: TestService,
  fields: Readonly<Record<string, string>> | string,
  options: SendOptions = {},
): Promise<Response> =>
  sendBody(test, new URLSearchParams(fields).toString(), {
    ...options,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...options.headers },
  });

export const acknowledgementOf = async (response: Response): Promise<Acknowledgement> =>
  (await response.json()) as Acknowledgement;
