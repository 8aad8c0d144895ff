/** `Prefer: wait=N` (RFC 7240): a poll with `since` whose page is empty waits for a lead. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { VerifiedToken } from '../accounts/tokens.ts';
import {
  type ChangeSource,
  type PollToHold,
  type Schedule,
  type WaitingPlace,
  WaitingPolls,
} from '../cache/waiting-polls.ts';
import { type Clock, systemClock } from '../clock.ts';
import type { PollRecorder } from '../leads/consumer-recorder.ts';
import type { Poll, PollQuery } from '../leads/poll.ts';
import { ClientDisconnectedError } from '../store/store.ts';
import { isDisconnected, onceClosed } from './connections.ts';
import { isConsoleRequest } from './console-client.ts';
import type { HeaderList, RequestContext } from './exchange.ts';
import type { PollObserver, PollState } from './page-response.ts';
import { parseWait } from './prefer.ts';
import { isUnavailability } from './problems.ts';

export interface WaitOptions {
  readonly maxWaiting?: number;
  readonly stopSignal?: AbortSignal;
  readonly observer?: PollObserver;
  readonly recorder?: PollRecorder;
  readonly clock?: Clock;
  /** For tests. Default: timers of Node. */
  readonly schedule?: Schedule;
}

/** A request that may wait. */
interface WaitingRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly context: Pick<RequestContext, 'log'>;
  readonly headers: HeaderList;
  readonly state: PollState;
}

/** The first page of a request. */
export interface FirstPage {
  readonly page: Poll;
  readonly token: VerifiedToken;
  readonly companyId: string;
  readonly query: PollQuery;
}

/** Runs the checks of a request again, except for the rate limit, and reads its page. Throws the problem that ends the wait. */
type CheckAgain<R> = (request: R, query: PollQuery, place: WaitingPlace) => Promise<Poll>;

/** Returns the first page, or a later one if the request has waited. */
export type WaitIfPreferred<R> = (request: R, first: FirstPage) => Poll | Promise<Poll>;

const DEFAULT_MAX_WAITING = 20_000;
/** Timers may be early by a fraction of a millisecond: the token must have expired when it is checked. */
const EXPIRY_MARGIN_MS = 5;

export function createWait<R extends WaitingRequest>(
  changes: ChangeSource | undefined,
  options: WaitOptions,
  checkAgain: CheckAgain<R>,
): WaitIfPreferred<R> {
  // Without a change log there is nothing to wait for but the next poll.
  if (!changes) return (_request, { page }) => page;
  const { maxWaiting = DEFAULT_MAX_WAITING, stopSignal, observer, recorder, clock = systemClock } = options;
  const onCount = (count: number) => observer?.observeWaiting?.(count);
  const waitingPolls = new WaitingPolls(changes, { maxWaiting, onCount, schedule: options.schedule });
  const stop = () => waitingPolls.stop();
  stopSignal?.addEventListener('abort', stop, { once: true });
  if (stopSignal?.aborted) stop();

  return (request, first) => {
    const waitS = waitOf(request.request, first.query);
    if (waitS === undefined) return first.page;
    if (first.page.page.leads.count === 0) return waitForLeads(request, first, waitS);
    addPreferenceApplied(request.headers, waitS);
    return first.page;
  };

  async function waitForLeads(request: R, first: FirstPage, waitS: number): Promise<Poll> {
    const { page, token, companyId, query } = first;
    const now = clock();
    const poll = {
      bearer: token,
      companyId,
      waitMs: waitS * 1000,
      expiresInMs: (token.expiresAt ?? Infinity) - now + EXPIRY_MARGIN_MS,
    };
    try {
      if (!isConsoleRequest(request.request)) recorder?.recordWait(token, now, now + poll.waitMs);
    } catch (error) {
      // A recorder that throws must not fail the request.
      request.context.log.error({ err: error }, 'the recorder of polls has thrown an error');
    }
    const result = await hold(waitingPolls, request, poll, (place) => checkAgain(request, query, place));
    if (result === 'full') {
      // An idle connection would occupy one of the instance's connections for 72 s.
      if (maxWaiting > 0) request.headers.push('connection', 'close');
      return page;
    }
    addPreferenceApplied(request.headers, waitS);
    if (result !== 'stopped') return result;
    // Without a read, so that a database that hangs does not delay the stop. `Date` is the time at which this page was read.
    request.headers.push('connection', 'close');
    return page;
  }
}

/** Only a GET with `since`: the newest leads are there at once, and a HEAD has no leads. */
function waitOf({ method, headers }: IncomingMessage, { since }: PollQuery): number | undefined {
  const prefer = headers['prefer'];
  if (prefer === undefined || method !== 'GET' || since === undefined) return undefined;
  return parseWait(prefer);
}

const addPreferenceApplied = (headers: HeaderList, waitS: number) =>
  headers.push('preference-applied', `wait=${waitS}`);

/**
 * Holds a request until its page has leads, its time is over, a check throws a problem, or the service stops. While the database is
 * unavailable it is held: thousands of clients that get a 503 at the same time would all try again together.
 */
function hold(
  waitingPolls: WaitingPolls,
  { request, response, state }: WaitingRequest,
  poll: Omit<PollToHold, 'check' | 'stop'>,
  read: (place: WaitingPlace) => Promise<Poll>,
): Promise<Poll | 'stopped' | 'full'> {
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const measure = () => {
      state.waitedMs = performance.now() - startedAt;
    };
    const place = waitingPolls.enter({
      ...poll,
      async check(checked) {
        const { isDue } = checked;
        measure();
        try {
          const result = await read(checked);
          if (!isDue && result.page.leads.count === 0) return 'checked';
          checked.leave();
          resolve(result);
        } catch (error) {
          if (!isDue && isUnavailability(error)) return 'failed';
          checked.leave();
          reject(error);
        }
        return 'checked';
      },
      stop() {
        measure();
        resolve('stopped');
        place?.leave();
      },
    });
    if (!place) return resolve('full');
    const disconnect = () => {
      if (response.writableEnded) return;
      measure();
      reject(new ClientDisconnectedError('the client has disconnected'));
      place.leave();
    };
    if (isDisconnected(request, response)) return disconnect();
    return onceClosed(request, response, disconnect);
  });
}
