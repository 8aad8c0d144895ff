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

/**
 * `check`: what the poll has read may be stale. `stopped`: the service stops. `left`: the poll has given up its place.
 */
export type Wake = 'check' | 'stopped' | 'left';

/** A poll that waits for a lead. It is checking from the start: the caller reads first, and calls `next` when it found no lead. */
export interface WaitingPoll {
  /** Its time is over: the next check is the last one. */
  readonly isDue: boolean;
  /** Changes of this company wake the poll, instead of those of the company before. */
  watchCompany(companyId: string): void;
  /** The check has failed: the next revalidation that succeeds wakes the poll. */
  retry(): void;
  /** Ends a check. Resolves at once if there was a change during the check. */
  next(): Promise<Wake>;
  leave(): void;
}

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

interface Entry {
  isDue: boolean;
  isChecking: boolean;
  /** There was a change since the last check began. */
  hasChanged: boolean;
  companyKey: string | undefined;
  readonly accountKeys: readonly string[];
  readonly timers: (() => void)[];
  wake: ((wake: Wake) => void) | undefined;
}

/**
 * The polls that wait for a lead, by what wakes them: their company, user and token. While there are any, one revalidation in
 * 50 ms reads the change log for all of them; without any, nothing runs. Revalidations of ordinary polls wake them as well,
 * because each change is returned to one revalidation only.
 */
export class WaitingPolls {
  readonly #source: ChangeSource;
  readonly #maxWaiting: number;
  readonly #onCount: (count: number) => void;
  readonly #schedule: Schedule;
  readonly #entries = new Set<Entry>();
  readonly #byKey = new Map<string, Set<Entry>>();
  /** To be checked, in their order. */
  readonly #woken = new Set<Entry>();
  readonly #failed = new Set<Entry>();
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
   * Undefined if the service stops, or if as many polls wait as may. `expiresInMs` is the time until the token expires: the poll
   * is then checked.
   */
  enter({ userId, tokenId }: Bearer, waitMs: number, expiresInMs = Infinity): WaitingPoll | undefined {
    if (this.#isStopped || this.#entries.size >= this.#maxWaiting) return undefined;
    const entry: Entry = {
      isDue: false,
      isChecking: true,
      hasChanged: false,
      companyKey: undefined,
      accountKeys: [userKey(userId), ...(tokenId === undefined ? [] : [tokenKey(tokenId)])],
      timers: [],
      wake: undefined,
    };
    this.#checks += 1;
    this.#entries.add(entry);
    for (const key of entry.accountKeys) this.#addKey(key, entry);
    entry.timers.push(this.#schedule(() => this.#end(entry), waitMs));
    if (expiresInMs < waitMs) entry.timers.push(this.#schedule(() => this.#wake(entry), expiresInMs));
    this.#cancelTick ??= this.#schedule(() => this.#tick(), TICK_MS);
    this.#onCount(this.#entries.size);
    return {
      get isDue() {
        return entry.isDue;
      },
      watchCompany: (companyId) => this.#watchCompany(entry, companyKey(companyId)),
      retry: () => this.#failed.add(entry),
      next: () => this.#next(entry),
      leave: () => this.#leave(entry),
    };
  }

  /** Ends all waits. Later polls do not wait. */
  stop(): void {
    this.#isStopped = true;
    for (const entry of this.#entries) resolveWith(entry, 'stopped');
  }

  #end(entry: Entry): void {
    entry.isDue = true;
    this.#wake(entry);
  }

  #watchCompany(entry: Entry, key: string): void {
    if (entry.companyKey === key || !this.#entries.has(entry)) return;
    if (entry.companyKey !== undefined) this.#removeKey(entry.companyKey, entry);
    entry.companyKey = key;
    this.#addKey(key, entry);
  }

  async #next(entry: Entry): Promise<Wake> {
    if (!this.#entries.has(entry)) return 'left';
    if (this.#isStopped) return 'stopped';
    this.#endCheck(entry);
    const woken = new Promise<Wake>((resolve) => {
      entry.wake = resolve;
    });
    if (entry.hasChanged) this.#woken.add(entry);
    this.#startChecks();
    return woken;
  }

  #leave(entry: Entry): void {
    if (!this.#entries.delete(entry)) return;
    for (const cancel of entry.timers) cancel();
    for (const key of entry.accountKeys) this.#removeKey(key, entry);
    if (entry.companyKey !== undefined) this.#removeKey(entry.companyKey, entry);
    this.#woken.delete(entry);
    this.#failed.delete(entry);
    this.#endCheck(entry);
    resolveWith(entry, 'left');
    if (this.#entries.size === 0) {
      this.#cancelTick?.();
      this.#cancelTick = undefined;
    }
    this.#onCount(this.#entries.size);
    this.#startChecks();
  }

  #endCheck(entry: Entry): void {
    if (entry.isChecking) this.#checks -= 1;
    entry.isChecking = false;
  }

  #receive(changes: readonly Change[] | undefined): void {
    if (this.#entries.size === 0) return;
    if (changes === undefined) this.#mustCheckAll = true;
    for (const { kind, id } of changes ?? [])
      for (const entry of this.#byKey.get(KEY_OF[kind](id)) ?? []) this.#markChanged(entry);
    this.#startChecks();
  }

  /** The next tick begins on time, also if this one takes longer; it then does nothing. */
  #tick(): void {
    this.#cancelTick = this.#schedule(() => this.#tick(), TICK_MS);
    this.#ticksSinceSweep += 1;
    if (!this.#isRevalidating) void this.#revalidate();
  }

  async #revalidate(): Promise<void> {
    this.#isRevalidating = true;
    try {
      await this.#source.revalidate();
      for (const entry of this.#failed) this.#markChanged(entry);
      this.#failed.clear();
      if (this.#mustCheckAll && this.#ticksSinceSweep >= TICKS_BETWEEN_SWEEPS) this.#checkAll();
      this.#startChecks();
    } catch {
      // The database is unavailable. The polls wait until it answers, or until their time is over.
    }
    this.#isRevalidating = false;
  }

  #checkAll(): void {
    this.#mustCheckAll = false;
    this.#ticksSinceSweep = 0;
    for (const entry of this.#entries) this.#markChanged(entry);
  }

  #wake(entry: Entry): void {
    this.#markChanged(entry);
    this.#startChecks();
  }

  #markChanged(entry: Entry): void {
    entry.hasChanged = true;
    if (entry.wake) this.#woken.add(entry);
  }

  #startChecks(): void {
    for (const entry of this.#woken) {
      if (this.#checks >= MAX_CONCURRENT_CHECKS) return;
      this.#woken.delete(entry);
      this.#checks += 1;
      entry.isChecking = true;
      entry.hasChanged = false;
      resolveWith(entry, 'check');
    }
  }

  #addKey(key: string, entry: Entry): void {
    const entries = this.#byKey.get(key);
    if (entries) entries.add(entry);
    else this.#byKey.set(key, new Set([entry]));
  }

  #removeKey(key: string, entry: Entry): void {
    const entries = this.#byKey.get(key);
    entries?.delete(entry);
    if (entries?.size === 0) this.#byKey.delete(key);
  }
}

function resolveWith(entry: Entry, wake: Wake): void {
  const { wake: resolve } = entry;
  entry.wake = undefined;
  resolve?.(wake);
}

const companyKey = (id: string): string => `company ${id}`;
const userKey = (id: string): string => `user ${id}`;
const tokenKey = (id: string): string => `token ${id}`;

const KEY_OF: Readonly<Record<Change['kind'], (id: string) => string>> = {
  'leads-appended': companyKey,
  company: companyKey,
  user: userKey,
  token: tokenKey,
};
