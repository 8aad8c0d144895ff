/** One request for JSON, or with a change. Whether the service answers counts for the whole page. */
import type { LeadtapError } from '@leadtap/client';
import { reportContact } from './feed.ts';
import { baseUrl, observedFetch, toConnectionError, toResponseError } from './service.ts';
import { session } from './session.ts';

const authorization = () => ({ authorization: `Bearer ${session.peek()?.token ?? ''}` });

interface Answer<Body> {
  readonly body: Body;
  readonly headers: Headers;
}

export async function ask<Body>(
  path: string,
  isBody: (body: unknown) => body is Body,
  signal?: AbortSignal,
): Promise<Answer<Body>> {
  const response = await observedFetch(`${baseUrl}${path}`, {
    headers: authorization(),
    ...(signal && { signal }),
  }).catch((cause: unknown) => {
    throw report(toConnectionError(cause), signal);
  });
  const body: unknown = await response.json().catch(() => undefined);
  if (!response.ok || !isBody(body)) throw report(toResponseError(response, body), signal);
  reportContact();
  return { body, headers: response.headers };
}

function report(error: LeadtapError, signal: AbortSignal | undefined): LeadtapError {
  if (!signal?.aborted) reportContact(error);
  return error;
}

const TIMEOUT_MS = 30_000;

/** Throws a `LeadtapError` unless the service has done it. */
export async function write<Body>(
  method: 'POST' | 'PATCH',
  path: string,
  content?: object,
  /** What the answer of the service has, and that of a proxy has not. */
  key?: keyof Body,
): Promise<{ readonly status: number; readonly body: Partial<Body> | undefined }> {
  const response = await observedFetch(`${baseUrl}${path}`, {
    method,
    headers: { ...authorization(), ...(content && { 'content-type': 'application/json' }) },
    ...(content && { body: JSON.stringify(content) }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((cause: unknown) => {
    throw toConnectionError(cause);
  });
  const body: Partial<Body> | undefined = await response.json().catch(() => undefined);
  if (!response.ok || (key && !body?.[key])) throw toResponseError(response, body);
  return { status: response.status, body };
}
