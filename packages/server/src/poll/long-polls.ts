/**
 * The polls that are held until there is a lead for them (`Prefer: wait`). `untilCheck` says when a poll is to be read again; its
 * states:
 *
 *     hold → queued → checking → release: there is an answer
 *               ↑         ↓
 *               └── idle: a change, or its time is over
 *
 * `interrupted` says from every state that the client has disconnected, that the service stops, or that the database is lost: a
 * second after a revalidation that failed, if none has succeeded since. While polls are held, one revalidation in 50 ms reads the
 * change log for all of them; without any, nothing runs. Revalidations of ordinary polls report their changes as well, because
 * each change is returned to one revalidation only.
 */

import type { VerifiedToken } from '../accounts/records.ts';
import { ClientDisconnectedError } from '../sql/errors.ts';
import type { Change, ChangeSource } from './store.ts';

/** Calls back after the delay, unless the function that it returns is called before. */
export type Schedule = (callback: () => void, delayMs: number) => () => void;

interface LongPollsOptions {
  /** The number of polls that are held at most. Further ones are answered at once. */
  readonly maxWaiting: number;
  /** Receives the number of long polls whenever it changes. */
  readonly onCount?: ((count: number) => void) | undefined;
  /** Default: timers of Node. */
  readonly schedule?: Schedule | undefined;
}

interface PollToHold {
  readonly token: VerifiedToken;
  /** The company of the user when the poll came. */
  readonly companyId: string;
  readonly waitMs: number;
  /** The time until the token expires: the poll is then checked. */
  readonly expiresInMs: number;
}

/** One user needs a long poll for each client and each tab of the console. */
const MAX_LONG_POLLS_PER_USER = 10;
/**
 * A company may have so many times the number of free slots. So a single company gets four fifths of all slots, two that want as
 * many as they can get 44 % each, and a company that has none always finds one.
 */
const COMPANY_SHARE = 4;

/** How often the change log is read while polls are held. */
const TICK_MS = 50;
/** A database that restarts or fails over faster ends no poll: otherwise thousands of clients would try again together. */
const MAX_OUTAGE_MS = 1000;
/** A change for thousands of long polls must not delay the others: so many are checked at the same time. */
const MAX_CONCURRENT_CHECKS = 500;
/** While the change log cannot say what has changed, all polls are checked once in so many ticks. */
const TICKS_BETWEEN_SWEEPS = 20;

export const scheduleTimeout: Schedule = (callback, delayMs) => {
  const timer = setTimeout(callback, delayMs).unref();
  return () => clearTimeout(timer);
};

type State =
  /** To be checked as soon as fewer than `MAX_CONCURRENT_CHECKS` others are. */
  | 'queued'
  /** Its account and its page are being read. */
  | 'checking'
  /** The same, but there was a change since, which the reads may have missed: it is queued again. */
  | 'checking-stale'
  /** There was nothing for it. A change queues it. */
  | 'idle'
  | 'ended';

/** 10,000 of them are usual, so it is small. */
export class LongPoll {
  readonly request: PollToHold;
  /** Resolves when the service stops. Rejects when the client has disconnected or the database is lost. */
  readonly interrupted: Promise<'stopped'>;
  interrupt: { resolve(reason: 'stopped'): void; reject(error: unknown): void } | undefined;
  /** Its page was read before it was held, and there may have been a change since. */
  state: State = 'checking-stale';
  companyId: string;
  /** Its time is over: the next check is the last one. */
  isDue = false;
  cancelTimer: (() => void) | undefined;
  /** Resolves `untilCheck`. */
  beginCheck: (isLast: boolean) => void = () => undefined;

  constructor(request: PollToHold) {
    this.request = request;
    this.companyId = request.companyId;
    this.interrupted = new Promise((resolve, reject) => {
      this.interrupt = { resolve, reject };
    });
  }
}

export class LongPolls {
  readonly #source: ChangeSource;
  readonly #maxWaiting: number;
  readonly #onCount: (count: number) => void;
  readonly #schedule: Schedule;
  readonly #held = new Set<LongPoll>();
  /** What a change concerns is looked up, so that its cost does not grow with the number of long polls. */
  readonly #by = { company: new LongPollIndex(), user: new LongPollIndex(), token: new LongPollIndex() };
  readonly #queue = new Set<LongPoll>();
  #checks = 0;
  #isTicking = false;
  /** Ends all polls, unless a revalidation succeeds before. */
  #cancelOutage: (() => void) | undefined;
  #mustCheckAll = false;
  #isStopped = false;

  constructor(source: ChangeSource, { maxWaiting, onCount, schedule = scheduleTimeout }: LongPollsOptions) {
    this.#source = source;
    this.#maxWaiting = maxWaiting;
    this.#onCount = onCount ?? (() => undefined);
    this.#schedule = schedule;
    source.onChanges((changes) => this.#receive(changes));
  }

  /** The number of polls that are being checked. */
  get checks(): number {
    return this.#checks;
  }

  /** Undefined if the service stops, or if as many polls are held as may be: of all users, of the user, or of the company. */
  hold(request: PollToHold): LongPoll | undefined {
    if (this.#isStopped || !this.#hasSlotFor(request)) return undefined;
    const held = new LongPoll(request);
    this.#held.add(held);
    this.#checks += 1;
    this.#by.company.add(held.companyId, held);
    this.#by.user.add(request.token.userId, held);
    this.#by.token.add(request.token.tokenId, held);
    this.#onCount(this.#held.size);
    this.#startTimer(held);
    if (!this.#isTicking) void this.#tick();
    return held;
  }

  /**
   * Waits until the poll is to be checked: its account and its page read again. Call it at first, and after each
   * check that found nothing, with the company that the user has now. True: its time is over, so that this check is its answer in any case.
   */
  untilCheck(held: LongPoll, companyId: string): Promise<boolean> {
    const turn = new Promise<boolean>((resolve) => {
      held.beginCheck = resolve;
    });
    // A poll that has ended meanwhile has no turn any more.
    if (held.state !== 'ended') this.#endCheck(held, companyId);
    this.#startChecks();
    return turn;
  }

  /** The client has disconnected. */
  disconnect(held: LongPoll): void {
    held.interrupt?.reject(new ClientDisconnectedError('the client has disconnected'));
    this.release(held);
  }

  /** Ends all long polls. Later ones are not held. */
  stop(): void {
    this.#isStopped = true;
    for (const held of this.#held) {
      held.interrupt?.resolve('stopped');
      this.release(held);
    }
  }

  /** The poll is not held any more: its slot is free. */
  release(held: LongPoll): void {
    if (held.state === 'ended') return;
    if (held.state === 'checking' || held.state === 'checking-stale') this.#checks -= 1;
    held.state = 'ended';
    held.cancelTimer?.();
    const { userId, tokenId } = held.request.token;
    this.#by.company.delete(held.companyId, held);
    this.#by.user.delete(userId, held);
    this.#by.token.delete(tokenId, held);
    this.#queue.delete(held);
    this.#held.delete(held);
    this.#onCount(this.#held.size);
    this.#startChecks();
  }

  #hasSlotFor({ token, companyId }: PollToHold): boolean {
    const free = this.#maxWaiting - this.#held.size;
    return (
      free > 0 &&
      this.#by.user.get(token.userId).size < MAX_LONG_POLLS_PER_USER &&
      this.#by.company.get(companyId).size < COMPANY_SHARE * free
    );
  }

  /** One timer at a time: until the token expires, or else until the time is over. */
  #startTimer(held: LongPoll): void {
    const { waitMs, expiresInMs } = held.request;
    const end = () => {
      held.isDue = true;
      this.#wake([held]);
    };
    const expire = () => {
      held.cancelTimer = this.#schedule(end, waitMs - expiresInMs);
      this.#wake([held]);
    };
    held.cancelTimer =
      expiresInMs < waitMs ? this.#schedule(expire, expiresInMs) : this.#schedule(end, waitMs);
  }

  /** Revalidates every 50 ms while polls are held. A revalidation that takes longer delays the next one. */
  async #tick(): Promise<void> {
    this.#isTicking = true;
    await this.#pause();
    for (let ticksSinceSweep = TICKS_BETWEEN_SWEEPS; this.#held.size > 0; ticksSinceSweep += 1) {
      const pause = this.#pause();
      const isAvailable = await this.#readChanges();
      if (isAvailable && this.#mustCheckAll && ticksSinceSweep >= TICKS_BETWEEN_SWEEPS) {
        this.#wake(this.#held);
        this.#mustCheckAll = false;
        ticksSinceSweep = 0;
      }
      await pause;
    }
    this.#isTicking = false;
    this.#endOutage();
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#schedule(resolve, TICK_MS);
    });
  }

  /** False if the database is unavailable. */
  async #readChanges(): Promise<boolean> {
    try {
      await this.#source.readChanges();
      this.#endOutage();
      return true;
    } catch (error) {
      this.#cancelOutage ??= this.#schedule(() => this.#rejectAll(error), MAX_OUTAGE_MS);
      return false;
    }
  }

  #endOutage(): void {
    this.#cancelOutage?.();
    this.#cancelOutage = undefined;
  }

  #rejectAll(error: unknown): void {
    for (const held of this.#held) {
      held.interrupt?.reject(error);
      this.release(held);
    }
  }

  #receive(changes: readonly Change[] | undefined): void {
    if (this.#held.size === 0) return;
    if (changes === undefined) this.#mustCheckAll = true;
    else this.#wake(this.#concernedBy(changes));
  }

  *#concernedBy(changes: readonly Change[]): Iterable<LongPoll> {
    for (const { kind, id } of changes) yield* this.#by[kind === 'leads-appended' ? 'company' : kind].get(id);
  }

  /** Queues polls, then begins to check them: a poll that several changes concern is checked once. */
  #wake(polls: Iterable<LongPoll>): void {
    for (const held of polls)
      if (held.state === 'checking') held.state = 'checking-stale';
      else if (held.state === 'idle') this.#enqueue(held);
    this.#startChecks();
  }

  #enqueue(held: LongPoll): void {
    this.#queue.add(held);
    held.state = 'queued';
  }

  #startChecks(): void {
    for (const held of this.#queue) {
      if (this.#checks >= MAX_CONCURRENT_CHECKS || this.#isStopped) return;
      this.#queue.delete(held);
      this.#checks += 1;
      held.state = 'checking';
      held.beginCheck(held.isDue);
    }
  }

  #endCheck(held: LongPoll, companyId: string): void {
    this.#checks -= 1;
    const isStale = held.state === 'checking-stale';
    held.state = 'idle';
    // A lead of the new company may have been committed before its changes were watched.
    const hasMoved = this.#watchCompany(held, companyId);
    if (isStale || hasMoved) this.#enqueue(held);
  }

  /** False if it does so already. */
  #watchCompany(held: LongPoll, companyId: string): boolean {
    if (companyId === held.companyId) return false;
    this.#by.company.delete(held.companyId, held);
    held.companyId = companyId;
    this.#by.company.add(companyId, held);
    return true;
  }
}

const NONE: ReadonlySet<LongPoll> = new Set();

/** Long polls by an id. Tokens may have none. */
class LongPollIndex {
  readonly #byId = new Map<string | undefined, Set<LongPoll>>();

  get(id: string): ReadonlySet<LongPoll> {
    return this.#byId.get(id) ?? NONE;
  }

  add(id: string | undefined, held: LongPoll): void {
    const polls = this.#byId.get(id);
    if (polls) polls.add(held);
    else this.#byId.set(id, new Set([held]));
  }

  delete(id: string | undefined, held: LongPoll): void {
    const polls = this.#byId.get(id);
    polls?.delete(held);
    if (polls?.size === 0) this.#byId.delete(id);
  }
}
