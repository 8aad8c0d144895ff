/** `Prefer: wait=N` (RFC 7240): a poll with `since` whose page is empty waits for a lead. */
import type { IncomingMessage } from 'node:http';
import type { VerifiedToken } from '../accounts/tokens.ts';
import { type ChangeSource, type Schedule, type WaitingPoll, WaitingPolls } from '../cache/waiting-polls.ts';
import { type Clock, systemClock } from '../clock.ts';
import type { Poll, PollQuery } from '../leads/poll.ts';
import { ClientDisconnectedError } from '../store/store.ts';
import type { HeaderList, PollObserver, RequestState } from './page-response.ts';
import { parseWait } from './prefer.ts';
import { isUnavailability } from './problems.ts';

export interface WaitOptions {
  readonly maxWaiting?: number;
  readonly stopSignal?: AbortSignal;
  readonly observer?: PollObserver;
  readonly clock?: Clock;
  /** For tests. Default: timers of Node. */
  readonly schedule?: Schedule;
}

/** A request that may wait. */
interface WaitingRequest {
  readonly request: IncomingMessage;
  readonly headers: HeaderList;
  readonly state: RequestState;
  disconnected(): AbortSignal;
}

/** Runs the checks of a request again, except for the rate limit, and reads its page. Throws the problem that ends the wait. */
type CheckAgain<R> = (request: R, query: PollQuery, waiting: WaitingPoll) => Promise<Poll>;

/** Returns the page that was read, or a later one if the request has waited. */
export type WaitIfPreferred<R> = (
  request: R,
  page: Poll,
  token: VerifiedToken,
  query: PollQuery,
) => Poll | Promise<Poll>;

const DEFAULT_MAX_WAITING = 20_000;
/** Timers may be early by a fraction of a millisecond: the token must have expired when it is checked. */
const EXPIRY_MARGIN_MS = 5;

export function createWait<R extends WaitingRequest>(
  changes: ChangeSource | undefined,
  options: WaitOptions,
  checkAgain: CheckAgain<R>,
): WaitIfPreferred<R> {
  // Without a change log there is nothing to wait for but the next poll.
  if (!changes) return (_request, page) => page;
  const { maxWaiting = DEFAULT_MAX_WAITING, stopSignal, observer, clock = systemClock } = options;
  const onCount = (count: number) => observer?.observeWaiting?.(count);
  const waitingPolls = new WaitingPolls(changes, { maxWaiting, onCount, schedule: options.schedule });
  const stop = () => waitingPolls.stop();
  stopSignal?.addEventListener('abort', stop, { once: true });
  if (stopSignal?.aborted) stop();

  return (request, page, token, query) => {
    const waitS = waitOf(request.request, query);
    return waitS === undefined ? page : waitForLeads(request, page, token, query, waitS);
  };

  async function waitForLeads(
    request: R,
    page: Poll,
    token: VerifiedToken,
    query: PollQuery,
    waitS: number,
  ): Promise<Poll> {
    const { headers } = request;
    const applied = ['preference-applied', `wait=${waitS}`];
    if (page.page.leads.count > 0) {
      headers.push(...applied);
      return page;
    }
    const expiresInMs = (token.expiresAt ?? Infinity) - clock() + EXPIRY_MARGIN_MS;
    const waiting = waitingPolls.enter(token, waitS * 1000, expiresInMs);
    if (!waiting) return page;
    const later = await hold(request, waiting, () => checkAgain(request, query, waiting));
    headers.push(...applied);
    if (later) return later;
    // Without a read, so that a database that hangs does not delay the stop. `Date` is the time at which this page was read.
    headers.push('connection', 'close');
    return page;
  }
}

/** Only a GET with `since`: the newest leads are there at once, and a HEAD has no leads. */
function waitOf({ method, headers }: IncomingMessage, { since }: PollQuery): number | undefined {
  const prefer = headers['prefer'];
  if (prefer === undefined || method !== 'GET' || since === undefined) return undefined;
  return parseWait(prefer);
}

/**
 * Checks whenever there was a change, until the page has leads, the time is over, or a check fails. Undefined if the service stops.
 * While the database is unavailable the request is held: thousands of clients that get a 503 at the same time would all try again
 * together.
 */
async function hold(
  { state, disconnected }: WaitingRequest,
  waiting: WaitingPoll,
  check: () => Promise<Poll>,
): Promise<Poll | undefined> {
  const startedAt = performance.now();
  const signal = disconnected();
  const leave = () => waiting.leave();
  signal.addEventListener('abort', leave, { once: true });
  if (signal.aborted) leave();
  try {
    for (;;) {
      const { isDue } = waiting;
      try {
        const poll = await check();
        if (isDue || poll.page.leads.count > 0) return poll;
      } catch (error) {
        if (isDue || !isUnavailability(error)) throw error;
        waiting.retry();
      }
      const wake = await waiting.next();
      state.waitedMs = performance.now() - startedAt;
      if (wake === 'left') throw new ClientDisconnectedError('the client has disconnected');
      if (wake === 'stopped') return undefined;
    }
  } finally {
    leave();
    signal.removeEventListener('abort', leave);
  }
}
