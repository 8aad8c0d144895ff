/** Reads leads backwards: all of them, or those with a text. */
import type { Lead } from '@leadtap/client';
import { FIND_LEADS_PATH } from '@leadtap/contract';
import { ask } from '../ask.ts';

export interface FindQuery {
  /** In milliseconds since 1970. */
  readonly before: number;
  readonly text?: string;
  /** Only those that this connection is owed. */
  readonly owed?: string;
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

const isLeads = (body: unknown): body is Lead[] => Array.isArray(body);

/** One request. */
export async function findLeads(query: FindQuery, signal?: AbortSignal): Promise<FoundLeads> {
  const parameters = new URLSearchParams({ before: new Date(query.before).toISOString() });
  if (query.text) parameters.set('q', query.text);
  if (query.owed) parameters.set('owed', query.owed);
  if (query.limit) parameters.set('limit', String(query.limit));
  const { body, headers } = await ask(`${FIND_LEADS_PATH}?${parameters}`, isLeads, signal);
  const [, next] = NEXT.exec(headers.get('link') ?? '') ?? [];
  const before = next === undefined ? null : new URL(next, location.href).searchParams.get('before');
  return { leads: body, from: before === null ? 0 : Date.parse(before) };
}
