/** One request for JSON. Whether the service answers counts for the whole page. */
import type { LeadtapError } from '@leadtap/client';
import { reportContact } from './feed.ts';
import { baseUrl, observedFetch, toConnectionError, toResponseError } from './service.ts';
import { session } from './session.ts';

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
    headers: { authorization: `Bearer ${session.peek()?.token ?? ''}` },
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
