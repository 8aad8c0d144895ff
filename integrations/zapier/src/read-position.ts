import { setTimeout as sleep } from 'node:timers/promises';
import { errors, type ZObject } from 'zapier-platform-core';

interface Saved {
  /** All leads up to this time were returned. */
  readonly readThrough: string;
  /** The last event for which a run has started ends here. */
  readonly seenThrough: string;
  /** A run is reading, and ends by then. Null: no run does. */
  readonly busyUntil: number | null;
}

/** As long as the service repeats events that are not accepted. */
const KEPT_FOR_S = 3 * 24 * 3600;

const CHECK_MS = 1000;
const MAX_CHECKS = 10;
/** Zapier may start the runs of two events in the other order. After so many checks, the run of the event before does not start. */
const MAX_CHECKS_FOR_START = 3;

const stillBusy = () =>
  new errors.Error(
    'The run of the event before has not ended. The leads of this event come with the next one.',
    'run-not-ended',
  );

/**
 * How far the leads of a hook were returned, in Zapier's cache. A run reads from there, also if its event begins later: the run of an
 * event before may have failed, or Zapier has accepted that event and never run it. The cache may lose the position. Then an event is on
 * its own: a repeated one returns its leads again.
 */
export class ReadPosition {
  readonly #z: ZObject;
  readonly #key: string;

  constructor(z: ZObject, hookId: string) {
    this.#z = z;
    this.#key = `leadtap ${hookId}`;
  }

  /** Of a new hook, or of an event that is not read. A position that is known stays. */
  async begin(since: string, seenThrough: string): Promise<void> {
    const saved = await this.#get();
    await this.#set({ readThrough: since, busyUntil: null, ...saved, seenThrough });
  }

  /** Where the run of an event begins to read. It waits for a run that is reading: if that one fails, its leads are to be returned too. */
  async find(since: string, now: () => number): Promise<string> {
    for (let checks = 1; checks <= MAX_CHECKS; checks += 1) {
      const saved = await this.#get();
      if (!saved) return since;
      const isBusy = saved.busyUntil !== null && saved.busyUntil > now();
      if (!isBusy && (saved.seenThrough >= since || checks > MAX_CHECKS_FOR_START)) return saved.readThrough;
      await sleep(CHECK_MS);
    }
    throw stillBusy();
  }

  save(readThrough: string, seenThrough: string, busyUntil: number | null = null): Promise<void> {
    return this.#set({ readThrough, seenThrough, busyUntil });
  }

  async #get(): Promise<Saved | undefined> {
    try {
      const saved: Saved | null = await this.#z.cache.get(this.#key);
      return saved ?? undefined;
    } catch {
      return undefined;
    }
  }

  async #set(saved: Saved): Promise<void> {
    try {
      await this.#z.cache.set(this.#key, saved, KEPT_FOR_S);
    } catch {
      // Without a position, the next event is on its own.
    }
  }
}
