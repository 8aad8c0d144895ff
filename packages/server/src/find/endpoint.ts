/** `GET {base_url}/automation/leads`: the leads that a user may see, newest first, or those with a text. */
import { FIND_LEADS_PATH, MAX_SEARCH_LENGTH } from '@leadtap/contract';
import { type CallerEndpoint, READ_METHODS, type RefusalObserver } from '../http/endpoint.ts';
import type { Exchange, Payload } from '../http/exchange.ts';
import { JSON_MEDIA_TYPE, searchOf } from '../http/headers.ts';
import {
  type Accounts,
  type Caller,
  createIdentification,
  type IdentificationOptions,
  readVerified,
} from '../http/identify.ts';
import { givenTwice, invalidQuery, type Parsed, parametersOf, parseLimit, parseTime } from '../http/query.ts';
import { scopeOf } from '../leads/access.ts';
import { renderLead } from '../leads/render.ts';
import type { LeadSearchResult, LeadStore } from '../leads/store.ts';
import { systemClock, toIso } from '../lib/clock.ts';
import { mapInSlices } from '../lib/event-loop.ts';
import type { FairQueue } from '../lib/fair.ts';
import type { Limiter } from '../limits/limiter.ts';

export interface FindEndpointOptions extends IdentificationOptions, RefusalObserver {
  readonly store: Pick<LeadStore, 'searchLeads'>;
  readonly accounts: Accounts;
  /** The limiter of polls: both count together. */
  readonly limiter: Limiter;
  readonly queue: FairQueue;
}

interface FindQuery {
  readonly before: number | undefined;
  readonly text: string | undefined;
  readonly limit: number;
}

const ABSENT = { value: undefined };

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
  const before = query['before'] === undefined ? ABSENT : parseTime(query['before']);
  const q = query['q'] === undefined ? ABSENT : parseText(query['q']);
  if ('value' in limit && 'value' in before && 'value' in q)
    return { before: before.value, text: q.value, limit: limit.value };
  throw invalidQuery({ before, limit, q });
}

/** A search that takes longer ends with what it has. */
const MAX_SEARCH_MS = 10_000;
export function createFindEndpoint(options: FindEndpointOptions): CallerEndpoint {
  const { store, queue, observeRefusal, clock = systemClock } = options;
  const callers = createIdentification({ ...options, scope: 'leads:read' });

  async function find(exchange: Exchange, first: Caller): Promise<Payload> {
    const query = parseFindQuery(searchOf(exchange.request.url));
    const endsAt = clock() + MAX_SEARCH_MS;
    const isTimeUp = () => clock() >= endsAt;
    const search = async ({ user }: Caller): Promise<LeadSearchResult> => {
      const scope = scopeOf(user);
      return scope
        ? store.searchLeads({ scope, ...query, isTimeUp }, exchange.disconnected())
        : { leads: [], next: undefined };
    };
    const { caller, result } = await readVerified(callers, exchange, first, await search(first), search);
    const leads = await mapInSlices(result.leads, ({ lead }) => renderLead(lead), caller.user.companyId);
    const body = `[${leads.join(',')}]`;
    const { headers } = exchange;
    if (result.next !== undefined)
      headers.push('link', `<${exchange.baseUrl()}${nextPath(query, result.next)}>; rel="next"`);
    headers.push('cache-control', 'private, no-store', 'content-type', JSON_MEDIA_TYPE);
    headers.push('content-length', String(Buffer.byteLength(body)));
    return { status: 200, body, leads: leads.length };
  }

  return {
    path: FIND_LEADS_PATH,
    methods: READ_METHODS,
    callers,
    queue,
    answer: find,
    observe: ({ problem }) => observeRefusal?.(problem?.parts.violatedPolicies ?? []),
  };
}

function nextPath({ text, limit }: FindQuery, before: number): string {
  const q = text === undefined ? '' : `&q=${encodeURIComponent(text)}`;
  return `${FIND_LEADS_PATH}?before=${toIso(before)}${q}&limit=${limit}`;
}
