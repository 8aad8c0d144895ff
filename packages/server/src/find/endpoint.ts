/** `GET {base_url}/automation/leads`: the leads that a user may see, newest first, or those with a text. */
import { FIND_LEADS_PATH, MAX_SEARCH_LENGTH } from '@leadtap/contract';
import type { CallerEndpoint } from '../http/endpoint.ts';
import type { Exchange, Payload } from '../http/exchange.ts';
import { JSON_MEDIA_TYPE, searchOf } from '../http/headers.ts';
import type { Caller } from '../http/identify.ts';
import { ProblemError } from '../http/problems.ts';
import {
  givenTwice,
  invalidQuery,
  type Parsed,
  parametersOf,
  parseLimit,
  parseOptional,
  parseTime,
} from '../http/query.ts';
import { createReadEndpoint, type ReadEndpointOptions } from '../http/read-endpoint.ts';
import { type PollingUser, scopeOf } from '../leads/access.ts';
import { renderLead } from '../leads/render.ts';
import type { LeadSearchResult, LeadStore } from '../leads/store.ts';
import { systemClock, toIso } from '../lib/clock.ts';
import { mapInSlices } from '../lib/event-loop.ts';

export interface FindEndpointOptions extends ReadEndpointOptions {
  readonly store: Pick<LeadStore, 'searchLeads'>;
  /** The leads that a connection is owed, newest first. Undefined: the user has no such connection. */
  readonly listOwed: (
    user: PollingUser,
    connection: string,
    query: Pick<FindQuery, 'before' | 'limit'>,
  ) => Promise<readonly number[] | undefined>;
}

interface FindQuery {
  readonly before: number | undefined;
  readonly text: string | undefined;
  readonly owed: string | undefined;
  readonly limit: number;
}

interface Found extends LeadSearchResult {
  readonly query: FindQuery;
}

function parseText(given: unknown): Parsed<string | undefined> {
  if (typeof given !== 'string') return givenTwice('moreau');
  const text = given.trim();
  if (text.length > MAX_SEARCH_LENGTH) return { detail: `Give at most ${MAX_SEARCH_LENGTH} characters.` };
  return { value: text === '' ? undefined : text };
}

/** The problem names every invalid parameter; unknown parameters are ignored. */
function parseFindQuery(search: string): FindQuery {
  const query = parametersOf(search);
  const limit = parseLimit(query['limit']);
  const before = parseOptional(query['before'], parseTime);
  const q = parseOptional(query['q'], parseText);
  const owed = parseOptional(query['owed'], parseText);
  if ('detail' in before || 'detail' in limit || 'detail' in q || 'detail' in owed)
    throw invalidQuery({ before, limit, q, owed });
  if (q.value !== undefined && owed.value !== undefined)
    throw invalidQuery({ owed: { detail: 'Give either `q` or `owed`.' } });
  return { before: before.value, text: q.value, owed: owed.value, limit: limit.value };
}

/** A search that takes longer ends with what it has. */
const MAX_SEARCH_MS = 10_000;

export function createFindEndpoint(options: FindEndpointOptions): CallerEndpoint {
  const { store, listOwed, clock = systemClock } = options;

  async function search(exchange: Exchange, { user }: Caller): Promise<Found> {
    const query = parseFindQuery(searchOf(exchange.request.url));
    const stamps = query.owed === undefined ? undefined : await listOwed(user, query.owed, query);
    if (query.owed !== undefined && !stamps)
      throw new ProblemError('no-such-resource', { detail: 'Your user has no connection with this id.' });
    const endsAt = clock() + MAX_SEARCH_MS;
    const isTimeUp = () => clock() >= endsAt;
    const scope = scopeOf(user);
    return scope
      ? {
          query,
          ...(await store.searchLeads({ scope, ...query, stamps, isTimeUp }, exchange.disconnected())),
        }
      : { query, leads: [], next: undefined };
  }

  return createReadEndpoint(FIND_LEADS_PATH, options, search, respond);
}

async function respond(
  exchange: Exchange,
  { query, leads, next }: Found,
  { user }: Caller,
): Promise<Payload> {
  const rendered = await mapInSlices(leads, ({ lead }) => renderLead(lead), user.companyId);
  const body = `[${rendered.join(',')}]`;
  const { headers } = exchange;
  if (next !== undefined) headers.push('link', `<${exchange.baseUrl()}${nextPath(query, next)}>; rel="next"`);
  headers.push('cache-control', 'private, no-store', 'content-type', JSON_MEDIA_TYPE);
  headers.push('content-length', String(Buffer.byteLength(body)));
  return { status: 200, body, leads: leads.length };
}

function nextPath({ text, owed, limit }: FindQuery, before: number): string {
  const given = { q: text, owed };
  const others = Object.entries(given).map(([name, value]) =>
    value === undefined ? '' : `&${name}=${encodeURIComponent(value)}`,
  );
  return `${FIND_LEADS_PATH}?before=${toIso(before)}${others.join('')}&limit=${limit}`;
}
