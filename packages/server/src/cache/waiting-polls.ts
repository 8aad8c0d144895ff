import type { Bearer, Change } from '../store/store.ts';

/** The change log as the waiting polls read it. */
export interface ChangeSource {
  /** Reads the changes since the last call, by whatever poll, and reports them to the listener before it resolves. */
  revalidate(): Promise<unknown>;
  /** Undefined: anything may have changed. */
  onChanges(listener: (changes: readonly Change[] | undefined) => void): void;
}

/** Calls back after the delay, unless the function that it returns is called before. */
export type Schedule = (callback: () => void, delayMs: number) => () => void;

export interface WaitingOptions {
  /** Further polls do not wait. */
  readonly maxWaiting: number;
  /** Receives the number of waiting polls whenever it changes. */
  readonly onCount?: ((count: number) => void) | undefined;
  /** Default: timers of Node. */
  readonly schedule?: Schedule | undefined;
}

export interface PollToHold {
  readonly bearer: Bearer;
  /** The company of the user when the poll came. */
  readonly companyId: string;
  readonly waitMs: number;
  /** The time until the token expires: the poll is then checked. */
  readonly expiresInMs: number;
  /**
   * Reads again, and gives up the place if there is an answer. It never rejects. `failed`: the next revalidation that succeeds begins
   * another check.
   */
  check(place: WaitingPlace): Promise<'checked' | 'failed'>;
  /** The service stops. */
  stop(): void;
}

/** One user needs a place for each client and each tab of the console. */
const MAX_HELD_POLLS_PER_USER = 10;
/**
 * A company may have so many times the number of free places. So a single company gets four fifths of all places, two that want as
 * many as they can get 44 % each, and a company that has none always finds one.
 */
const COMPANY_SHARE = 4;

/** How often the change log is read while polls wait. */
const TICK_MS = 50;
/** A change that wakes thousands of polls must not delay the others: so many are checked at the same time. */
const MAX_CONCURRENT_CHECKS = 500;
/** While the change log cannot say what has changed, all polls are checked once in so many ticks. */
const TICKS_BETWEEN_SWEEPS = 20;

const scheduleTimeout: Schedule = (callback, delayMs) => {
  const timer = setTimeout(callback, delayMs).unref();
  return () => clearTimeout(timer);
};

/** The place of one waiting poll. 10,000 of them are usual, so it is small. */
export class WaitingPlace {
  readonly #owner: WaitingPolls;
  readonly poll: PollToHold;
  /** Its time is over: the check is the last one. */
  isDue = false;
  isChecking = false;
  /** There was a change since the last check began. */
  hasChanged = false;
  companyId: string | undefined;
  cancelTimer: (() => void) | undefined;

  constructor(owner: WaitingPolls, poll: PollToHold) {
    this.#owner = owner;
    this.poll = poll;
  }

  /** Changes of this company wake the poll, instead of those of the company before. */
  watchCompany(companyId: string): void {
    if (this.companyId !== companyId) this.#owner.watchCompany(this, companyId);
  }

  leave(): void {
    this.#owner.leave(this);
  }
}

/**
 * The polls that wait for a lead. While there are any, one revalidation in 50 ms reads the change log for all of them; without any,
 * nothing runs. Revalidations of ordinary polls wake them as well, because each change is returned to one revalidation only.
 */
export class WaitingPolls {
  readonly #source: ChangeSource;
  readonly #maxWaiting: number;
  readonly #onCount: (count: number) => void;
  readonly #schedule: Schedule;
  readonly #places = new Set<WaitingPlace>();
  readonly #byCompany = new Map<string, Set<WaitingPlace>>();
  readonly #countByUser = new Map<string, number>();
  /** To be checked, in their order. */
  readonly #woken = new Set<WaitingPlace>();
  readonly #failed = new Set<WaitingPlace>();
  #checks = 0;
  #cancelTick: (() => void) | undefined;
  #isRevalidating = false;
  #mustCheckAll = false;
  #ticksSinceSweep = TICKS_BETWEEN_SWEEPS;
  #isStopped = false;

  constructor(source: ChangeSource, { maxWaiting, onCount, schedule = scheduleTimeout }: WaitingOptions) {
    this.#source = source;
    this.#maxWaiting = maxWaiting;
    this.#onCount = onCount ?? (() => undefined);
    this.#schedule = schedule;
    source.onChanges((changes) => this.#receive(changes));
  }

  /**
   * Holds a poll and checks it at once, because there may have been a change since its page was read. Undefined if the service
   * stops, or if as many polls wait as may: of all users, of the user, or of the company.
   */
  enter(poll: PollToHold): WaitingPlace | undefined {
    const { bearer, companyId } = poll;
    const ofUser = this.#countByUser.get(bearer.userId) ?? 0;
    if (this.#isStopped || ofUser >= MAX_HELD_POLLS_PER_USER || !this.#hasPlaceFor(companyId))
      return undefined;
    const place = new WaitingPlace(this, poll);
    this.#places.add(place);
    this.#countByUser.set(bearer.userId, ofUser + 1);
    this.watchCompany(place, companyId);
    this.#startTimer(place);
    this.#cancelTick ??= this.#schedule(() => this.#tick(), TICK_MS);
    this.#onCount(this.#places.size);
    void this.#check(place);
    return place;
  }

  #hasPlaceFor(companyId: string): boolean {
    const free = this.#maxWaiting - this.#places.size;
    return free > 0 && (this.#byCompany.get(companyId)?.size ?? 0) < COMPANY_SHARE * free;
  }

  /** Ends all waits. Later polls do not wait. */
  stop(): void {
    this.#isStopped = true;
    for (const { poll } of this.#places) poll.stop();
  }

  watchCompany(place: WaitingPlace, companyId: string): void {
    if (!this.#places.has(place)) return;
    this.#forgetCompany(place);
    place.companyId = companyId;
    const places = this.#byCompany.get(companyId);
    if (places) places.add(place);
    else this.#byCompany.set(companyId, new Set([place]));
  }

  leave(place: WaitingPlace): void {
    if (!this.#places.delete(place)) return;
    this.#forgetUser(place.poll.bearer.userId);
    place.cancelTimer?.();
    this.#forgetCompany(place);
    this.#woken.delete(place);
    this.#failed.delete(place);
    this.#endCheck(place);
    if (this.#places.size === 0) {
      this.#cancelTick?.();
      this.#cancelTick = undefined;
    }
    this.#onCount(this.#places.size);
    this.#startChecks();
  }

  /** One timer at a time: until the token expires, or else until the time is over. */
  #startTimer(place: WaitingPlace): void {
    const { waitMs, expiresInMs } = place.poll;
    const end = () => {
      place.isDue = true;
      this.#wake(place);
    };
    const expire = () => {
      place.cancelTimer = this.#schedule(end, waitMs - expiresInMs);
      this.#wake(place);
    };
    place.cancelTimer =
      expiresInMs < waitMs ? this.#schedule(expire, expiresInMs) : this.#schedule(end, waitMs);
  }

  #receive(changes: readonly Change[] | undefined): void {
    if (this.#places.size === 0) return;
    if (changes === undefined) this.#mustCheckAll = true;
    const accounts = new Set<string>();
    for (const { kind, id } of changes ?? [])
      if (kind === 'user' || kind === 'token') accounts.add(id);
      else for (const place of this.#byCompany.get(id) ?? []) this.#markChanged(place);
    if (accounts.size > 0) this.#markAccounts(accounts);
    this.#startChecks();
  }

  /** Accounts rarely change, so they are searched for instead of indexed. */
  #markAccounts(ids: ReadonlySet<string>): void {
    for (const place of this.#places) {
      const { userId, tokenId } = place.poll.bearer;
      if (ids.has(userId) || (tokenId !== undefined && ids.has(tokenId))) this.#markChanged(place);
    }
  }

  /** The next tick begins on time, also if the revalidation of this one takes longer; it then does nothing. */
  #tick(): void {
    this.#cancelTick = this.#schedule(() => this.#tick(), TICK_MS);
    this.#ticksSinceSweep += 1;
    if (!this.#isRevalidating) void this.#revalidate();
  }

  async #revalidate(): Promise<void> {
    this.#isRevalidating = true;
    try {
      await this.#source.revalidate();
      for (const place of this.#failed) this.#markChanged(place);
      this.#failed.clear();
      if (this.#mustCheckAll && this.#ticksSinceSweep >= TICKS_BETWEEN_SWEEPS) this.#markAll();
      this.#startChecks();
    } catch {
      // The database is unavailable. The polls wait until it answers, or until their time is over.
    }
    this.#isRevalidating = false;
  }

  #markAll(): void {
    this.#mustCheckAll = false;
    this.#ticksSinceSweep = 0;
    for (const place of this.#places) this.#markChanged(place);
  }

  #wake(place: WaitingPlace): void {
    this.#markChanged(place);
    this.#startChecks();
  }

  #markChanged(place: WaitingPlace): void {
    place.hasChanged = true;
    if (!place.isChecking) this.#woken.add(place);
  }

  #startChecks(): void {
    for (const place of this.#woken) {
      if (this.#checks >= MAX_CONCURRENT_CHECKS) return;
      this.#woken.delete(place);
      void this.#check(place);
    }
  }

  async #check(place: WaitingPlace): Promise<void> {
    this.#checks += 1;
    place.isChecking = true;
    place.hasChanged = false;
    const result = await place.poll.check(place);
    if (!this.#places.has(place)) return;
    this.#endCheck(place);
    if (result === 'failed') this.#failed.add(place);
    if (place.hasChanged) this.#woken.add(place);
    this.#startChecks();
  }

  #endCheck(place: WaitingPlace): void {
    if (place.isChecking) this.#checks -= 1;
    place.isChecking = false;
  }

  #forgetUser(userId: string): void {
    const count = (this.#countByUser.get(userId) ?? 0) - 1;
    if (count > 0) this.#countByUser.set(userId, count);
    else this.#countByUser.delete(userId);
  }

  #forgetCompany(place: WaitingPlace): void {
    const { companyId } = place;
    const places = companyId === undefined ? undefined : this.#byCompany.get(companyId);
    places?.delete(place);
    if (companyId !== undefined && places?.size === 0) this.#byCompany.delete(companyId);
  }
}
