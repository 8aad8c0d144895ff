/** `GET {base_url}/automation/new-leads`, which polls new leads. */
import { NEW_LEADS_PATH } from '@leadtap/contract';
import { hasTokenScope } from '../http/authorize.ts';
import { type CallerEndpoint, READ_METHODS } from '../http/endpoint.ts';
import { cachedPayload, type Exchange } from '../http/exchange.ts';
import { httpDate, isConsoleRequest, JSON_MEDIA_TYPE, searchOf } from '../http/headers.ts';
import {
  type Caller,
  createIdentification,
  type IdentificationOptions,
  readVerified,
} from '../http/identify.ts';
import { NO_LEADS } from '../leads/render.ts';
import { systemClock, toIso } from '../lib/clock.ts';
import { andThen } from '../lib/event-loop.ts';
import { type Limiter, MemoryLimiter, USER_POLICIES } from '../limits/limiter.ts';
import type { AccountCache, RevalidatedAccount } from './cache/account-cache.ts';
import { PollCache } from './cache/poll-cache.ts';
import type { Schedule } from './held-polls.ts';
import { type CheckAgain, createHold, type VerifiedPoll } from './hold.ts';
import { type PollObserver, type PollPayload, toEndedPoll, toObservation } from './observer.ts';
import { type PollQuery, type PollResult, poll } from './pages.ts';
import { parseQuery } from './query.ts';
import type { PageQuery, PollRecorder, PollStore } from './store.ts';

/** The parts that the endpoint uses, wherever it is mounted. */
export interface PollEndpointOptions extends IdentificationOptions {
  readonly store: PollStore;
  /** Default: 100 a minute and 1000 an hour for each user, in the memory of this process. */
  readonly limiter?: Limiter | undefined;
  /** Receives one observation for each request, for metrics. */
  readonly observer?: PollObserver | undefined;
  /** Records who polls and how far each has come. Default: it is not recorded. */
  readonly recorder?: PollRecorder | undefined;
  /** The number of requests that may wait for a lead (`Prefer: wait`). Further ones are answered at once. Default: 20,000. */
  readonly maxWaiting?: number | undefined;
  /** Abort it when your server stops: requests that wait for a lead are answered at once, and later ones do not wait. */
  readonly stopSignal?: AbortSignal | undefined;
  /** For tests: the timers of held polls. */
  readonly schedule?: Schedule | undefined;
}

type PollCaller = Caller<RevalidatedAccount>;

/** Reads the page of a user. */
type Read = (caller: PollCaller) => PollResult | Promise<PollResult>;

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

  /** A page that is empty or older than the last check of the account needs no other check. */
  const readPage = (
    exchange: Exchange,
    caller: PollCaller,
    read: Read,
  ): VerifiedPoll | Promise<VerifiedPoll> =>
    andThen(read(caller), (result) =>
      needsNoSecondCheck(result)
        ? toVerified(result, caller)
        : readVerified(callers, exchange, caller, result, read).then((verified) =>
            toVerified(verified.result, verified.caller),
          ),
    );

  const checkAgain: CheckAgain = async (exchange, query, isLast) =>
    readPage(exchange, await callers.identifyAgain(exchange), ({ user, account: { revalidation } }) => {
      // Only the last read waits for a writer: its page may be empty, and then has a time.
      const read = (page: PageQuery) =>
        isLast
          ? cache.readPage(page, revalidation, () => exchange.disconnected())
          : cache.readCommitted(page, revalidation);
      return poll(read, user, query);
    });
  const holdIfPreferred = createHold(accounts, options, checkAgain);

  /** Synchronous if the page is in the cache. */
  function answer(exchange: Exchange, caller: PollCaller): PollPayload | Promise<PollPayload> {
    const { token } = caller;
    const query = parseQuery(searchOf(exchange.request.url));
    const first = readPage(exchange, caller, ({ user, account: { revalidation } }) =>
      poll((page) => cache.readPage(page, revalidation, () => exchange.disconnected()), user, query),
    );
    return andThen(first, (verified) => {
      if (exchange.request.headers['prefer'] === undefined) return toPayload(exchange, verified.poll, query);
      const held = holdIfPreferred(exchange, { ...verified, token, query });
      return andThen(held, (result) => toPayload(exchange, result, query));
    });
  }

  function observe(ended: Exchange, payload: PollPayload | undefined): void {
    observer?.observe(toObservation(ended, payload));
    if (!recorder || isConsoleRequest(ended.request)) return;
    const { status, problem } = ended;
    if (status === 503) recorder.recordUnavailable(clock());
    const token = ended.token ?? problem?.parts.token ?? problem?.parts.unverifiedToken;
    // A token that may only send leads is no consumer, and neither is a user who does not exist.
    if (!token || !hasTokenScope(token, 'leads:read') || status === 404) return;
    if (status === 401) recorder.recordRefusedToken(token, clock());
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

const needsNoSecondCheck = ({ page: { leads, isOlderThanAccount } }: PollResult): boolean =>
  leads.count === 0 || isOlderThanAccount;

const toVerified = (result: PollResult, { user }: PollCaller): VerifiedPoll => ({
  poll: result,
  companyId: user.companyId,
});

/** As a text, which Node sends with the headers in one write. */
const EMPTY_PAGE = String(NO_LEADS.body);

function toPayload(exchange: Exchange, result: PollResult, query: PollQuery): PollPayload {
  const { headers } = exchange;
  const { leads, readAt } = result.page;
  // Nearly all polls find nothing: their `since` comes back as it was sent.
  const isSame = result.nextSince === query.since && query.sinceText !== undefined;
  const since = isSame ? query.sinceText : toIso(result.nextSince);
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
  return { status, body, leads: leads.count, poll: result, query };
}
