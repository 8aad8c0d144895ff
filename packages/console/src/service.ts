/** The public endpoint, as this page calls it. */
import { type Environment, LeadtapError, type RateLimit, readRateLimits } from '@leadtap/client';
import { CLIENT_HEADER, CONSOLE_CLIENT } from '@leadtap/contract';
import { signal } from '@preact/signals';
import { followServiceClock } from './clock.ts';

/** The page is at the base URL, so its folder is the base URL of this service as the visitor sees it. */
export const baseUrl = new URL('.', location.href).href.replace(/\/$/, '');

export interface Limits {
  readonly limits: readonly RateLimit[];
  /** When the service said so, in milliseconds since 1970. */
  readonly at: number;
}

/** The limits as the last response had them. They count all requests of the user, also those of other programs. */
export const lastLimits = signal<Limits | undefined>(undefined);

/** How many requests this page has sent: subtract them to see the requests of others in `lastLimits`. */
export const sentRequests = signal(0);

/** How many of them the service may not have counted: they failed, were aborted or were refused because of a limit. */
export const uncountedRequests = signal(0);

/** On every request of this page: it is then not recorded as a consumer, which would look stopped when the page is closed. */
export const OWN_HEADERS: Readonly<Record<string, string>> = { [CLIENT_HEADER]: CONSOLE_CLIENT };

/** `fetch`, observed: every request of this page passes here. */
export async function observedFetch(
  url: string,
  init: RequestInit & { readonly headers: Record<string, string> },
): Promise<Response> {
  sentRequests.value += 1;
  let status: number | undefined;
  try {
    const response = await fetch(url, { ...init, headers: { ...init.headers, ...OWN_HEADERS } });
    status = response.status;
    return observe(response);
  } finally {
    if (status === undefined || status === 429) uncountedRequests.value += 1;
  }
}

function observe(response: Response): Response {
  followServiceClock(response.headers);
  const limits = readRateLimits(response.headers);
  if (limits.length > 0) lastLimits.value = { limits, at: Date.now() };
  return response;
}

/** For the client. */
export const environment: Partial<Environment> = { fetch: observedFetch };

/** Errors of the client are `LeadtapError`, but for a token that cannot be sent at all: the service would reject it. */
export function toLeadtapError(error: unknown): LeadtapError {
  if (error instanceof LeadtapError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new LeadtapError({ code: 'token-invalid', status: 401, message, cause: error });
}
