/** Reads leads backwards: all of them, or those with a text. */
import type { Lead } from '@leadtap/client';
import { FIND_LEADS_PATH } from '@leadtap/contract';
import { reportContact } from '../feed.ts';
import { baseUrl, observedFetch, toConnectionError, toResponseError } from '../service.ts';
import { session } from '../session.ts';

export interface FindQuery {
  /** In milliseconds since 1970. */
  readonly before: number;
  readonly text?: string;
  readonly limit?: number;
}

export interface FoundLeads {
  /** Newest first. */
  readonly leads: readonly Lead[];
  /** All leads from this time on were searched; 0: there are no older ones. */
  readonly from: number;
}

export const timeOf = ({ createdAt }: Lead): number => Date.parse(createdAt);

const NEXT = /^<([^>]*)>; rel="next"$/;

/** One request. Whether the service answers counts for the whole page. */
export async function findLeads(query: FindQuery, signal?: AbortSignal): Promise<FoundLeads> {
  const parameters = new URLSearchParams({ before: new Date(query.before).toISOString() });
  if (query.text) parameters.set('q', query.text);
  if (query.limit) parameters.set('limit', String(query.limit));
  const response = await observedFetch(`${baseUrl}${FIND_LEADS_PATH}?${parameters}`, {
    headers: { authorization: `Bearer ${session.peek()?.token ?? ''}` },
    ...(signal && { signal }),
  }).catch((cause: unknown) => {
    throw report(toConnectionError(cause), signal);
  });
  const body: unknown = await response.json().catch(() => undefined);
  if (!response.ok || !Array.isArray(body)) throw report(toResponseError(response, body), signal);
  reportContact();
  const [, next] = NEXT.exec(response.headers.get('link') ?? '') ?? [];
  const before = next === undefined ? null : new URL(next, location.href).searchParams.get('before');
  return { leads: body, from: before === null ? 0 : Date.parse(before) };
}

function report<E extends Parameters<typeof reportContact>[0]>(error: E, signal: AbortSignal | undefined): E {
  if (!signal?.aborted) reportContact(error);
  return error;
}
