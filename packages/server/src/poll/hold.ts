/** `Prefer: wait=N` (RFC 7240): a poll with `since` whose page is empty is held until there is a lead. */
import type { IncomingMessage } from 'node:http';
import { MAX_WAIT_S, MIN_WAIT_S } from '@leadtap/contract';
import type { VerifiedToken } from '../accounts/records.ts';
import { isDisconnected, onceClosed } from '../http/connections.ts';
import type { Exchange } from '../http/exchange.ts';
import { type HeaderList, isConsoleRequest, parseParameter, splitUnquoted } from '../http/headers.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import type { WatchReserved } from '../lib/reserved.ts';
import { ClientDisconnectedError } from '../sql/errors.ts';
import type { RenderedPage } from './cache/poll-cache.ts';
import { type LongPoll, LongPolls, type Schedule } from './long-polls.ts';
import type { ChangeSource, PollRecorder } from './store.ts';

export interface LongPollObserver {
  /** Receives the number of requests that wait for a lead whenever it changes. */
  observeWaiting?(count: number): void;
  readonly watchReserved?: WatchReserved;
}

interface HoldOptions {
  readonly maxWaiting?: number | undefined;
  readonly stopSignal?: AbortSignal | undefined;
  readonly observer?: LongPollObserver | undefined;
  readonly recorder?: PollRecorder | undefined;
  readonly clock?: Clock | undefined;
  /** For tests. Default: timers of Node. */
  readonly schedule?: Schedule | undefined;
}

/** A page that its account may see, and the company of the account. */
export interface VerifiedPage {
  readonly page: RenderedPage;
  readonly companyId: string;
}

/** A poll that may be held, with the page that was read when its request came. */
interface FirstPoll extends VerifiedPage {
  readonly token: VerifiedToken;
  readonly since: number | undefined;
  /** Runs the checks again, except for the rate limit, and reads the page. Throws the problem that ends the poll. */
  readonly pollAgain: (isLast: boolean) => Promise<VerifiedPage>;
}

/** Returns the first page, or a later one if the request was held. */
type HoldIfPreferred = (exchange: Exchange, first: FirstPoll) => RenderedPage | Promise<RenderedPage>;

const DEFAULT_MAX_WAITING = 20_000;
/** Timers may be early by a fraction of a millisecond: the token must have expired when it is checked. */
const EXPIRY_MARGIN_MS = 5;

export function createHold(changes: ChangeSource, options: HoldOptions): HoldIfPreferred {
  const { maxWaiting = DEFAULT_MAX_WAITING, stopSignal, observer, recorder, clock = systemClock } = options;
  const onCount = (count: number) => {
    try {
      observer?.observeWaiting?.(count);
    } catch {
      // An observer that throws must not fail the request, or keep its slot. It throws again when the request is counted, which logs it.
    }
  };
  const longPolls = new LongPolls(changes, { maxWaiting, onCount, schedule: options.schedule });
  observer?.watchReserved?.('poll_checks', () => longPolls.checks);
  const stop = () => longPolls.stop();
  stopSignal?.addEventListener('abort', stop, { once: true });
  if (stopSignal?.aborted) stop();

  return (exchange, first) => {
    const waitS = preferredWaitS(exchange.request, first.since);
    if (waitS === undefined) return first.page;
    if (first.page.leads.count === 0) return hold(exchange, first, waitS);
    addPreferenceApplied(exchange.headers, waitS);
    return first.page;
  };

  async function hold(exchange: Exchange, first: FirstPoll, waitS: number): Promise<RenderedPage> {
    const { request, response, headers } = exchange;
    const { page, token, companyId } = first;
    const startedAt = performance.now();
    if (isDisconnected(request, response)) throw new ClientDisconnectedError('the client has disconnected');
    const expiresInMs = (token.expiresAt ?? Infinity) - clock() + EXPIRY_MARGIN_MS;
    const held = longPolls.hold({ token, companyId, waitMs: waitS * 1000, expiresInMs });
    if (!held) {
      // An idle connection would occupy one of the instance's connections for 72 s.
      if (maxWaiting > 0) headers.push('connection', 'close');
      return page;
    }
    recordWait(exchange, first);
    onceClosed(request, response, () => {
      if (!response.writableEnded) longPolls.disconnect(held);
    });
    try {
      const answer = await Promise.race([pollUntilLead(first, held), held.interrupted]);
      addPreferenceApplied(headers, waitS);
      if (answer !== 'stopped') return answer;
      // Without a read, so that a database that hangs does not delay the stop. `Date` is the time at which this page was read.
      headers.push('connection', 'close');
      return page;
    } finally {
      longPolls.release(held);
      exchange.waitedMs = performance.now() - startedAt;
    }
  }

  async function pollUntilLead(first: FirstPoll, held: LongPoll): Promise<RenderedPage> {
    for (let { companyId } = first; ; ) {
      const isLast = await longPolls.untilCheck(held, companyId);
      const next = await first.pollAgain(isLast);
      if (isLast || next.page.leads.count > 0) return next.page;
      companyId = next.companyId;
    }
  }

  function recordWait(exchange: Exchange, { token, since }: FirstPoll): void {
    try {
      if (!isConsoleRequest(exchange.request)) recorder?.recordWait(token, clock(), since);
    } catch (error) {
      // A recorder that throws must not fail the request.
      exchange.log.error({ err: error }, 'the recorder of polls has thrown an error');
    }
  }
}

/** Only a GET with `since`: the newest leads are there at once, and a HEAD has no leads. */
const preferredWaitS = (
  { method, headers }: IncomingMessage,
  since: number | undefined,
): number | undefined => (method === 'GET' && since !== undefined ? parseWait(headers['prefer']) : undefined);

const addPreferenceApplied = (headers: HeaderList, waitS: number) =>
  headers.push('preference-applied', `wait=${waitS}`);

/**
 * The seconds of `Prefer: wait=N`, at most 50. Undefined if the request has no such preference, or one that cannot be honoured:
 * RFC 7240 lets a server ignore it. Of several, the first one counts. Parameters of a preference are ignored.
 */
export function parseWait(prefer: string | string[] | undefined): number | undefined {
  const text = Array.isArray(prefer) ? prefer.join(', ') : (prefer ?? '');
  for (const preference of splitUnquoted(text, ',')) {
    // Thousands of empty preferences fit into a header.
    if (!/^\s*wait\b/i.test(preference)) continue;
    const [first = ''] = splitUnquoted(preference, ';');
    const { name, value } = parseParameter(first);
    if (name !== 'wait') continue;
    const seconds = /^\d+$/.test(value) ? Number(value) : 0;
    return seconds < MIN_WAIT_S ? undefined : Math.min(seconds, MAX_WAIT_S);
  }
  return undefined;
}
