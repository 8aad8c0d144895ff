/**
 * `GET {base_url}/automation/new-leads`, which polls new leads, as a plain Node listener. The standalone server calls it, the
 * Fastify plugin mounts it, and Express or bare `node:http` can mount it too.
 */
import { NEW_LEADS_PATH } from '@leadtap/contract';
import { systemClock } from '../clock.ts';
import type { PollRecorder } from '../consumers/recorder.ts';
import { isPromise } from '../event-loop.ts';
import { hasTokenScope, requireTokenScope } from '../http/authenticate.ts';
import { isConsoleRequest } from '../http/console-client.ts';
import { matchesEtag } from '../http/etag.ts';
import {
  createHandler,
  createResponder,
  type Exchange,
  type MountOptions,
  type Payload,
  type RequestHandler,
  type Responder,
} from '../http/exchange.ts';
import { createIdentification, type IdentificationOptions, type Identity } from '../http/identify.ts';
import { requireMethod, requireValidHeaders } from '../http/methods.ts';
import { addPageHeaders, JSON_MEDIA_TYPE } from '../http/page-headers.ts';
import { ProblemError } from '../http/problems.ts';
import { mayPoll, seeSameLeads } from '../leads/access.ts';
import { NO_LEADS } from '../leads/render.ts';
import { type Limiter, USER_POLICIES } from '../limits/limiter.ts';
import { MemoryLimiter } from '../limits/memory-limiter.ts';
import { StoreUnavailableError } from '../store/errors.ts';
import { createReaders, type PollReaders } from './cache/poll-cache.ts';
import { toEndedPoll } from './ended.ts';
import type { Schedule } from './held-polls.ts';
import { type CheckAgain, createHold, type FirstPoll, type VerifiedPoll } from './hold.ts';
import { type PollObserver, toObservation } from './observer.ts';
import { type PollResult, poll } from './pages.ts';
import { parseQuery, searchOf } from './query.ts';
import type { PollAnswer, PollState } from './state.ts';
import type { PollStore } from './store.ts';

/** The parts that the endpoint uses, wherever it is mounted. */
export interface PollOptions extends IdentificationOptions {
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
  readonly stopSignal?: AbortSignal;
}

export interface PollHandlerOptions extends PollOptions, MountOptions {}

/** Answers every request that it receives: routing by path is up to the caller. */
export type PollHandler = RequestHandler;

export const createPollHandler = (options: PollHandlerOptions): PollHandler =>
  createHandler(NEW_LEADS_PATH, createPollResponder(options), options);

/** Endpoints of the same store can share the readers, and so one cache. */
export function createPollResponder(
  options: PollOptions & { readonly schedule?: Schedule | undefined },
  readers: PollReaders = createReaders(options.store),
): Responder {
  const { observer, recorder, clock = systemClock } = options;
  return createResponder<PollState>({
    createState: () => ({}),
    answer: createAnswer(options, readers),
    observe: (outcome, request) => {
      observer?.observe(toObservation(outcome, request.method));
      if (!recorder || isConsoleRequest(request)) return;
      const { status, state } = outcome;
      if (status === 503) recorder.recordUnavailable(clock());
      const { token = state.problem?.parts.token ?? state.problem?.parts.unverifiedToken } = state;
      // A token that may only send leads is no consumer, and neither is a user who does not exist.
      if (!token || !hasTokenScope(token, 'leads:read') || status === 404) return;
      if (status === 401) recorder.recordRefusedToken(token, clock());
      else recorder.recordPoll(token, toEndedPoll(outcome, request, clock()));
    },
  });
}

/** Reads the page of a user. */
type Read = (identity: Identity) => PollResult | Promise<PollResult>;

const needsNoSecondCheck = ({ page: { leads, isOlderThanAccount } }: PollResult): boolean =>
  leads.count === 0 || isOlderThanAccount;

const toVerified = (result: PollResult, { user }: Identity): VerifiedPoll => ({
  poll: result,
  companyId: user.companyId,
});

/** How often a page is read because the access level of its user has changed meanwhile. */
const MAX_TRIES = 5;

/** The checks, in their order. A failed check throws a `ProblemError`. */
function createAnswer(
  options: PollOptions,
  readers: PollReaders,
): (exchange: Exchange<PollState>) => Promise<Payload> {
  const { clock = systemClock } = options;
  const { limiter = new MemoryLimiter(USER_POLICIES, clock) } = options;
  const { identify, identifyAgain } = createIdentification({ ...options, readers, limiter, clock });

  async function identifyPollerAgain(exchange: Exchange<PollState>): Promise<Identity> {
    const identity = await identifyAgain(exchange);
    requirePollRights(identity);
    return identity;
  }

  /**
   * No answer contains a lead that was committed after the account had lost the right to see it. So leads that may be newer than the
   * last check of the account are returned only after another check. If the access level has changed, they are read again.
   */
  function readVerified(
    exchange: Exchange<PollState>,
    identity: Identity,
    read: Read,
  ): VerifiedPoll | Promise<VerifiedPoll> {
    const result = read(identity);
    if (!isPromise(result) && needsNoSecondCheck(result)) return toVerified(result, identity);
    return verify(exchange, identity, read, result);
  }

  async function verify(
    exchange: Exchange<PollState>,
    first: Identity,
    read: Read,
    firstResult: PollResult | Promise<PollResult>,
  ): Promise<VerifiedPoll> {
    let identity = first;
    let result = await firstResult;
    for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
      if (needsNoSecondCheck(result)) return toVerified(result, identity);
      const current = await identifyPollerAgain(exchange);
      if (seeSameLeads(identity.user, current.user)) return toVerified(result, identity);
      identity = current;
      result = await read(identity);
    }
    throw new StoreUnavailableError(`the access level of the user has changed ${MAX_TRIES} times`);
  }

  const checkAgain: CheckAgain = async (exchange, query, isLast) =>
    readVerified(exchange, await identifyPollerAgain(exchange), ({ user, reader }) => {
      // Only the last read waits for a writer: its page may be empty, and then has a time.
      const read = isLast ? 'readPage' : 'readCommitted';
      return poll((page) => reader[read](page, exchange.disconnected), user, query);
    });
  const holdIfPreferred = createHold(readers.changes, options, checkAgain);

  /** A function of its own, so that its data do not stay in memory while the poll is held. */
  async function readFirstPoll(exchange: Exchange<PollState>): Promise<FirstPoll> {
    const { request, disconnected } = exchange;
    // Token: 401. Rate limit: 429. User: 404.
    const identity = await identify(exchange);
    requirePollRights(identity);
    // Query: 400.
    const query = parseQuery(searchOf(request.url ?? ''));
    const read = readVerified(exchange, identity, ({ user, reader }) =>
      poll((pageQuery) => reader.readPage(pageQuery, disconnected), user, query),
    );
    const verified = isPromise(read) ? await read : read;
    return { poll: verified.poll, companyId: verified.companyId, token: identity.token, query };
  }

  return async (exchange) => {
    const { request, context, headers, state } = exchange;
    requireValidHeaders(request);
    requireMethod(request);
    const first = await readFirstPoll(exchange);
    const held = holdIfPreferred(exchange, first);
    const result = isPromise(held) ? await held : held;
    addPageHeaders(headers, context.baseUrl(), result, first.query);
    const isNotModified = matchesEtag(request.headers['if-none-match'], result.page.leads.etag);
    state.leads = result.page.leads.count;
    state.answer = { status: isNotModified ? 304 : 200, poll: result, query: first.query };
    return toPagePayload(state.answer, exchange);
  };
}

/** What every request that reads leads, or reads about them, needs. */
export function requirePollRights({ user, token }: Pick<Identity, 'user' | 'token'>): void {
  // Plan: 403.
  if (!mayPoll(user)) throw new ProblemError('professional-plan-required');
  // Scope: 403.
  requireTokenScope(token, 'leads:read');
}

/** As a text, which Node sends with the headers in one write. */
const EMPTY_PAGE = String(NO_LEADS.body);

function toPagePayload(
  { status, poll: result }: PollAnswer,
  { request, headers }: Exchange<PollState>,
): Payload {
  const { body, count } = result.page.leads;
  // RFC 9110: a HEAD has the headers of the 200, also with status 304.
  if (status === 304 && request.method !== 'HEAD') return { status, body: undefined };
  headers.push('content-type', JSON_MEDIA_TYPE, 'content-length', String(body.length));
  return { status, body: count === 0 ? EMPTY_PAGE : body };
}
