/** `GET {base_url}/automation/new-leads`, which polls new leads. */
import { NEW_LEADS_PATH } from '@leadtap/contract';
import type { VerifiedToken } from '../accounts/records.ts';
import { hasTokenScope } from '../http/authorize.ts';
import { type CallerEndpoint, READ_METHODS } from '../http/endpoint.ts';
import { cachedPayload, type Exchange, type Payload } from '../http/exchange.ts';
import { httpDate, isConsoleRequest, JSON_MEDIA_TYPE, searchOf } from '../http/headers.ts';
import {
  type Caller,
  createIdentification,
  type IdentificationOptions,
  readVerified,
} from '../http/identify.ts';
import { invalidQuery, type Parsed, parametersOf, parseLimit, parseTime } from '../http/query.ts';
import { type PollingUser, scopeOf } from '../leads/access.ts';
import { parseUtc } from '../leads/instant.ts';
import type { LeadScope } from '../leads/record.ts';
import { NO_LEADS } from '../leads/render.ts';
import { systemClock, toIso } from '../lib/clock.ts';
import { andThen } from '../lib/event-loop.ts';
import { type Limiter, MemoryLimiter, USER_POLICIES } from '../limits/limiter.ts';
import type { AccountCache, RevalidatedAccount } from './cache/account-cache.ts';
import type { FeedQuery } from './cache/feed.ts';
import { PollCache, type RenderedPage } from './cache/poll-cache.ts';
import { createHold, type LongPollObserver, type VerifiedPage } from './hold.ts';
import type { Schedule } from './long-polls.ts';
import { readNewestPage } from './newest-page.ts';
import type { EndedPoll, PollFacts, PollRecorder, PollStore } from './store.ts';

/** The result of one request to the endpoint, for metrics. */
export interface PollObservation {
  readonly status: number;
  /** From the arrival of the request to the last byte of the response. */
  readonly durationMs: number;
  /** The part of it in which the request waited for a lead (`Prefer: wait`). 0 if it did not wait. */
  readonly waitedMs: number;
  /** The number of leads in the body that was sent. */
  readonly leads: number;
  /** The age of the oldest of them, if the client polls with `since`. */
  readonly feedLagMs: number | undefined;
  /** Whether the page was read without the company's lock because a writer held it for too long. */
  readonly unlocked: boolean;
  readonly violatedPolicies: readonly string[];
}

/** Receives the observations: Leadtap's metrics, or those of an embedding application. */
export interface PollObserver extends LongPollObserver {
  observe(observation: PollObservation): void;
  /** Receives the limits of a 429 to another request, which is no poll. */
  observeRefusal?(violatedPolicies: readonly string[]): void;
}

/** The parts that the endpoint uses, wherever it is mounted. */
export interface PollEndpointOptions extends IdentificationOptions {
  readonly store: PollStore;
  /** Default: `USER_POLICIES` for each user, in the memory of this process. */
  readonly limiter?: Limiter | undefined;
  /** Receives one observation for each request, for metrics. */
  readonly observer?: PollObserver | undefined;
  /** Records who polls and how far each has come. Default: it is not recorded. */
  readonly recorder?: PollRecorder | undefined;
  /** The number of requests that may wait for a lead (`Prefer: wait`). Further ones are answered at once. Default: 20,000. */
  readonly maxWaiting?: number | undefined;
  /** Abort it when your server stops: requests that wait for a lead are answered at once, and later ones do not wait. */
  readonly stopSignal?: AbortSignal | undefined;
  /** For tests: the timers of long polls. */
  readonly schedule?: Schedule | undefined;
}

type PollCaller = Caller<RevalidatedAccount>;

interface PollQuery extends FeedQuery {
  /** If it was sent in our own notation, which `Link` uses. */
  readonly sinceText?: string;
}

/** The answer to a poll that passed all checks. */
interface PollPayload extends Payload {
  readonly page: RenderedPage;
  readonly query: PollQuery;
}

export function createPollEndpoint(
  options: PollEndpointOptions,
  accounts: AccountCache,
): CallerEndpoint<RevalidatedAccount, PollPayload> {
  const cache = new PollCache(options.store, accounts);
  const { observer, recorder, clock = systemClock } = options;
  const { limiter = new MemoryLimiter(USER_POLICIES, clock) } = options;
  const callers = createIdentification({
    ...options,
    accounts,
    scope: 'leads:read',
    limiter,
    clock,
  });
  const holdIfPreferred = createHold(accounts, options);

  /** Synchronous if the page is in the cache. */
  function readPage(
    exchange: Exchange,
    caller: PollCaller,
    query: PollQuery,
    waitsForWriter = true,
  ): VerifiedPage | Promise<VerifiedPage> {
    const read = ({ token, user, account: { revalidation } }: PollCaller) => {
      const pageQuery = { scope: requireScope(user), ...query };
      if (!waitsForWriter) return cache.readCommitted(pageQuery, revalidation);
      const page = cache.readPage(pageQuery, revalidation, () => exchange.disconnected());
      return query.since === undefined && recorder?.newestPageRule && !isConsoleRequest(exchange.request)
        ? limitNewest(token, page)
        : page;
    };
    const limitNewest = async (token: VerifiedToken, newest: RenderedPage | Promise<RenderedPage>) => {
      // Together: a page that fails while the rule is read would be an unhandled rejection, which ends the process.
      const [page, rule] = await Promise.all([newest, recorder?.newestPageRule?.(token)]);
      return rule ? readNewestPage(options.store.changeTracking, page, query.limit, rule) : page;
    };
    return andThen(read(caller), (page) =>
      // An empty page, or one that is older than the check of the account, needs no other check.
      page.leads.count === 0 || page.isOlderThanAccount
        ? { page, companyId: caller.user.companyId }
        : readVerified(callers, exchange, caller, page, read).then((verified) => ({
            page: verified.result,
            companyId: verified.caller.user.companyId,
          })),
    );
  }

  function answer(exchange: Exchange, caller: PollCaller): PollPayload | Promise<PollPayload> {
    const query = parseQuery(searchOf(exchange.request.url));
    // A long poll must not keep the whole caller in memory.
    const { token } = caller;
    return andThen(readPage(exchange, caller, query), (first) => {
      if (exchange.request.headers['prefer'] === undefined) return toPayload(exchange, first.page, query);
      const held = holdIfPreferred(exchange, {
        ...first,
        token,
        since: query.since,
        // Only the last read waits for a writer: its page may be empty, and then has a time.
        pollAgain: async (isLast) => readPage(exchange, await callers.identifyAgain(exchange), query, isLast),
      });
      return andThen(held, (page) => toPayload(exchange, page, query));
    });
  }

  function observe(ended: Exchange, payload: PollPayload | undefined): void {
    observer?.observe(toObservation(ended, payload));
    if (!recorder || isConsoleRequest(ended.request)) return;
    const { status, problem } = ended;
    const token = ended.token ?? problem?.parts.token;
    // A token that may only send leads is no automation, and neither is a user who does not exist.
    if (!token || !hasTokenScope(token, 'leads:read') || status === 404) return;
    if (status === 401) recorder.recordRefusedToken(token, clock(), toPollFacts(ended));
    else recorder.recordPoll(token, toEndedPoll(ended, payload, clock()));
  }

  return {
    path: NEW_LEADS_PATH,
    methods: READ_METHODS,
    callers,
    answer,
    observe,
  };
}

type Since = Pick<PollQuery, 'since' | 'sinceText'>;

const NO_SINCE: Parsed<Since> = { value: {} };

function parseSince(given: unknown): Parsed<Since> {
  if (given === undefined) return NO_SINCE;
  const since = typeof given === 'string' ? parseUtc(given) : undefined;
  if (typeof given === 'string' && since !== undefined) return { value: { since, sinceText: given } };
  const other = parseTime(given);
  return 'detail' in other ? other : { value: { since: other.value } };
}

/** The problem names every invalid parameter; unknown parameters are ignored. */
export function parseQuery(search: string): PollQuery {
  const query = parametersOf(search);
  const limit = parseLimit(query['limit']);
  const since = parseSince(query['since']);
  if ('value' in limit && 'value' in since) return { limit: limit.value, ...since.value };
  throw invalidQuery({ limit, since });
}

function requireScope(user: PollingUser): LeadScope {
  const scope = scopeOf(user);
  if (!scope) throw new Error(`user has the access level ${user.accessLevel} but no such place`);
  return scope;
}

/** Where new leads begin in a company that has never had one. */
const BEFORE_THE_FIRST = Date.UTC(1970, 0);

/** As a text, which Node sends with the headers in one write. */
const EMPTY_PAGE = String(NO_LEADS.body);

function toPayload(exchange: Exchange, page: RenderedPage, query: PollQuery): PollPayload {
  const { headers } = exchange;
  const { leads, readAt } = page;
  const newest = query.since === undefined ? leads.first : leads.last;
  // Never the clock: after it is set back, new leads get stamps before the time that it showed.
  const nextSince = newest ?? query.since ?? page.lastStamp ?? BEFORE_THE_FIRST;
  // Nearly all polls find nothing: their `since` comes back as it was sent.
  const isSame = nextSince === query.since && query.sinceText !== undefined;
  const since = isSame ? query.sinceText : toIso(nextSince);
  const next = `${exchange.baseUrl()}${NEW_LEADS_PATH}?since=${since}&limit=${query.limit}`;
  headers.push(
    'link',
    `<${next}>; rel="next"`,
    'cache-control',
    'private, no-cache',
    'vary',
    'Authorization, Prefer',
    'date',
    // The time of the read, not of the response, which is later: a client may use it as its next `since`.
    httpDate(readAt),
  );
  const { status, body } = cachedPayload(exchange, {
    mediaType: JSON_MEDIA_TYPE,
    etag: leads.etag,
    body: leads.count === 0 ? EMPTY_PAGE : leads.body,
  });
  return { status, body, leads: leads.count, page, query };
}

function toObservation(ended: Exchange, payload: PollPayload | undefined): PollObservation {
  const { status, durationMs, waitedMs = 0, request, problem } = ended;
  const sent = status === 200 && request.method === 'GET' ? payload : undefined;
  return {
    status,
    durationMs,
    waitedMs,
    leads: sent?.page.leads.count ?? 0,
    feedLagMs: sent && feedLagMs(sent),
    unlocked: payload?.page.locked === false,
    violatedPolicies: problem?.parts.violatedPolicies ?? [],
  };
}

function feedLagMs({ query, page }: PollPayload): number | undefined {
  const { leads, readAt } = page;
  if (query.since === undefined || leads.first === undefined) return undefined;
  return Math.max(0, readAt - leads.first);
}

/** What the recorder of connections needs to know about a request. */
export function toEndedPoll(
  ended: Pick<Exchange, 'status' | 'request' | 'isComplete'> & FactsOfExchange,
  payload: Pick<PollPayload, 'status' | 'page' | 'query'> | undefined,
  at: number,
): EndedPoll {
  const { status, request, isComplete } = ended;
  const { code, durationMs } = toPollFacts(ended);
  if (!payload) return { at, status, code, durationMs };
  const { query } = payload;
  const { scope, readAt, leads, lastStamp } = payload.page;
  // A 304 sends no body: its tag may be from a HEAD. If it is from a GET, that one was recorded.
  const hasBody = payload.status === 200 && request.method === 'GET';
  const isSent = hasBody && status === 200 && isComplete;
  const isFull = leads.count >= query.limit;
  const page = {
    scope,
    since: query.since,
    limit: query.limit,
    readAt,
    leads,
    lastStamp,
    isFull,
    isSent,
    isInterrupted: hasBody && !isSent,
  };
  return { at, status, page, code, durationMs };
}

type FactsOfExchange = Partial<Pick<Exchange, 'problem' | 'durationMs' | 'waitedMs'>>;

const toPollFacts = ({ problem, durationMs = 0, waitedMs }: FactsOfExchange): Required<PollFacts> => ({
  code: problem?.code,
  durationMs: durationMs - (waitedMs ?? 0),
});
