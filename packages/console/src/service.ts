/** The public endpoint, as this page calls it. */
import { type Environment, LeadtapError, type RateLimit, readRateLimits } from '@leadtap/client';
import { CLIENT_HEADER, CONSOLE_CLIENT } from '@leadtap/contract';
import { signal } from '@preact/signals';
import { followServiceClock } from './clock.ts';

/** The page is at the base URL, so its folder is the base URL of this service as the visitor sees it. */
export const baseUrl = new URL('.', location.href).href.replace(/\/$/, '');

export interface Limits {
  readonly limits: readonly RateLimit[];
  /** When the request was sent that the service counted, in milliseconds since 1970. */
  readonly at: number;
}

/** The limits as of the last request with an answer. They count all requests of the user, also those of other programs. */
export const lastLimits = signal<Limits | undefined>(undefined);

/** On every request of this page: it then makes no connection, which would be silent when the page is closed. */
export const OWN_HEADERS: Readonly<Record<string, string>> = { [CLIENT_HEADER]: CONSOLE_CLIENT };

let sentCount = 0;
/** The number of the request that has the last limits. */
let limitedBy = 0;

/** `fetch`, observed: every request of this page passes here. */
export async function observedFetch(
  url: string,
  init: Omit<RequestInit, 'headers'> & { readonly headers: Record<string, string> },
): Promise<Response> {
  sentCount += 1;
  const [number, sentAt] = [sentCount, Date.now()];
  const response = await fetch(url, { ...init, headers: { ...init.headers, ...OWN_HEADERS } });
  followServiceClock(response.headers);
  const limits = readRateLimits(response.headers);
  // Leads that are sent have limits of their own. A request is counted when it arrives: what a held one says is older than the answers
  // that came meanwhile.
  if (init.method !== 'POST' && limits.length > 0 && number > limitedBy) {
    limitedBy = number;
    lastLimits.value = { limits, at: sentAt };
  }
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

export function toConnectionError(cause: unknown): LeadtapError {
  const message = cause instanceof Error ? cause.message : String(cause);
  return new LeadtapError({ code: 'connection-failed', message, cause });
}

type Problem = NonNullable<LeadtapError['problem']>;

const isProblem = (body: unknown): body is Problem =>
  typeof body === 'object' && body !== null && 'code' in body && 'detail' in body;

/** The error of a response that has no leads; `body` is what was parsed of it. */
export function toResponseError({ status, ok, headers }: Response, body: unknown): LeadtapError {
  const problem = isProblem(body) ? body : undefined;
  const retryAfterS = Number(headers.get('retry-after') ?? Number.NaN);
  return new LeadtapError({
    code: problem?.code ?? (ok ? 'not-leads' : `http-${status}`),
    message: problem?.detail ?? `status ${status}`,
    status,
    problem,
    ...(Number.isFinite(retryAfterS) && { retryAfterMs: retryAfterS * 1000 }),
  });
}
