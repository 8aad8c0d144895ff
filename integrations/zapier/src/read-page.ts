import type { Lead } from '@leadtap/contract';
import {
  type Bundle,
  errors,
  type HttpRequestOptionsWithUrl,
  type HttpResponse,
  type ZObject,
} from 'zapier-platform-core';
import { installationName, newLeadsAddress } from './base-address.ts';
import { unexpectedAnswer } from './refusals.ts';

/** Zapier gives a poll 30 seconds. */
const TIMEOUT_MS = 10_000;

export interface Page {
  readonly leads: readonly Lead[];
  /** The moment of the answer, by the clock of the service. */
  readonly readAt: number;
  /** Whether a fifth of every limit is left, for whatever else polls with this user's tokens. */
  readonly hasQuotaToSpare: boolean;
}

export interface PageQuery {
  readonly limit?: number;
  readonly since?: string;
}

/** Sends a request, and says so if no answer comes. */
export function request<T>(
  z: ZObject,
  baseAddress: string,
  options: HttpRequestOptionsWithUrl,
): Promise<HttpResponse<T>> {
  return z.request<T>({ ...options, timeout: TIMEOUT_MS }).catch((error: Error) => {
    throw isUnreachable(error) ? unreachable(baseAddress, error) : error;
  });
}

/** One page of leads: without `since` the newest, newest first; with `since` those that follow it, oldest first. */
export async function readPage(z: ZObject, { authData }: Bundle, query: PageQuery = {}): Promise<Page> {
  const baseAddress = authData['baseUrl'] ?? '';
  const response = await request<unknown>(z, baseAddress, {
    url: newLeadsAddress(baseAddress),
    params: { ...query },
  });
  const leads = leadsIn(response);
  if (leads === undefined)
    throw unexpectedAnswer(installationName(baseAddress), response.status, 'a list of leads');
  return {
    leads,
    readAt: Date.parse(response.headers.get('date') ?? ''),
    hasQuotaToSpare: hasQuotaToSpare(response),
  };
}

const isLead = (value: Partial<Lead> | null): boolean =>
  typeof value?.createdAt === 'string' && typeof value.automation_trigger_id === 'string';

/** The leads of a page of Leadtap: an array of leads, with the address of the next poll in `Link`. */
function leadsIn({ data, headers }: HttpResponse<unknown>): readonly Lead[] | undefined {
  const hasNext = /;\s*rel="next"/.test(headers.get('link') ?? '');
  return hasNext && Array.isArray(data) && data.every(isLead) ? data : undefined;
}

/** No answer came: a wrong name, a closed port, a bad certificate, or more than ten seconds. */
const isUnreachable = ({ name }: Error): boolean => name === 'FetchError' || name === 'AbortError';

const unreachable = (baseAddress: string, error: Error): Error =>
  new errors.Error(
    `Leadtap cannot be reached at ${installationName(baseAddress)} (${'code' in error ? error.code : error.message}). Check the base address of the connection, and that the address can be reached from the internet.`,
    'unreachable',
  );

/** The headers write `"minute";q=100;w=60, "hour";…` and `"minute";r=99;t=60, "hour";…`. */
function numbersOf(header: string | null, parameter: 'q' | 'r'): Map<string, number> {
  const items = (header ?? '').split(',').map((item) => item.trim().split(';'));
  return new Map(
    items.flatMap(([name = '', ...parameters]): [string, number][] => {
      const given = parameters.find((text) => text.startsWith(`${parameter}=`));
      return given === undefined ? [] : [[name, Number(given.slice(2))]];
    }),
  );
}

function hasQuotaToSpare({ headers }: HttpResponse): boolean {
  const left = numbersOf(headers.get('ratelimit'), 'r');
  const quotas = numbersOf(headers.get('ratelimit-policy'), 'q');
  return [...quotas].every(([name, quota]) => (left.get(name) ?? quota) > quota / 5);
}
