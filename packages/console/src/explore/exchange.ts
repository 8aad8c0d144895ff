/** Sends the request that the visitor built, and keeps the answer as it came. */
import type { Lead, LeadtapError } from '@leadtap/client';
import { effect, signal } from '@preact/signals';
import { clock } from '../clock.ts';
import { reportContact } from '../feed.ts';
import { observedFetch, toConnectionError, toResponseError } from '../service.ts';
import { session } from '../session.ts';
import { type ApiRequest, etag, limit, readNextLink, request, since } from './request.ts';

export interface Answer {
  readonly request: ApiRequest;
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly text: string;
  /** Undefined: the body is not a list of leads. */
  readonly leads: readonly Lead[] | undefined;
  /** Undefined for 200 and 304. */
  readonly error: LeadtapError | undefined;
  readonly receivedAt: number;
  readonly durationMs: number;
}

export type Exchange =
  | { readonly kind: 'none' }
  | { readonly kind: 'sending'; readonly request: ApiRequest; readonly sentAt: number }
  | { readonly kind: 'answered'; readonly answer: Answer }
  | { readonly kind: 'failed'; readonly error: LeadtapError }
  | { readonly kind: 'stopped' };

export const exchange = signal<Exchange>({ kind: 'none' });

let sending = new AbortController();

export async function sendRequest(): Promise<void> {
  sending.abort();
  sending = new AbortController();
  const { signal } = sending;
  const built = request.peek();
  const token = session.peek()?.token;
  const startedMs = performance.now();
  exchange.value = { kind: 'sending', request: built, sentAt: clock() };
  try {
    const response = await observedFetch(built.url, {
      headers: {
        accept: 'application/json',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...built.headers,
      },
      // Leads are personal data, and nothing for the cache of the browser.
      cache: 'no-store',
      signal,
    });
    const answer = toAnswer(built, startedMs, response, await response.text());
    reportContact(answer.error);
    if (!signal.aborted) exchange.value = { kind: 'answered', answer };
  } catch (cause) {
    if (signal.aborted) return;
    const error = toConnectionError(cause);
    reportContact(error);
    exchange.value = { kind: 'failed', error };
  }
}

export function stopRequest(): void {
  sending.abort();
  exchange.value = { kind: 'stopped' };
}

/** Sends the request that the `Link` of the answer names: the leads that follow. */
export function followLink(link: string | null): void {
  const next = readNextLink(link);
  if (!next) return;
  since.value = next.since;
  limit.value = next.limit;
  void sendRequest();
}

// Leads and answers belong to a token: they go with it.
let shownFor = session.peek()?.token;
effect(() => {
  const token = session.value?.token;
  if (token === shownFor) return;
  shownFor = token;
  sending.abort();
  exchange.value = { kind: 'none' };
  etag.value = '';
});

function toAnswer(built: ApiRequest, startedMs: number, response: Response, text: string): Answer {
  const { status, statusText, headers } = response;
  const body = parse(text);
  return {
    request: built,
    status,
    statusText,
    headers,
    text,
    leads: Array.isArray(body) ? (body as Lead[]) : undefined,
    error: response.ok || status === 304 ? undefined : toResponseError(response, body),
    receivedAt: clock(),
    durationMs: Math.round(performance.now() - startedMs),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
