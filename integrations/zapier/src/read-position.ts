import { setTimeout as sleep } from 'node:timers/promises';
import { errors, type ZObject } from 'zapier-platform-core';

interface Mark {
  /** Leads after this time were not returned yet. */
  readonly unreadFrom: string;
  /** A run is reading them, and ends by then. Null: no run does. */
  readonly busyUntil: number | null;
}

/** As long as the service repeats events that are not accepted. */
const KEPT_FOR_S = 3 * 24 * 3600;

const BUSY_CHECK_MS = 1000;
const MAX_BUSY_CHECKS = 10;

const stillBusy = () =>
  new errors.Error(
    'The run of the event before has not ended. The leads of this event come with the next one.',
    'run-not-ended',
  );

/**
 * How far the leads that a hook announces were returned, in Zapier's cache. The window of an event begins where the one before
 * ended. There is a mark for each end of a window: it says where the unread leads begin that a run of the next window has to return
 * too. A cache may lose marks. Then each event is on its own: a repeated one returns its leads again, and those of a failed run come
 * only with a repeated event.
 */
export class ReadPositions {
  readonly #z: ZObject;
  readonly #hookId: string;

  constructor(z: ZObject, hookId: string) {
    this.#z = z;
    this.#hookId = hookId;
  }

  /** From where on leads were not returned, for a window that begins at `since`: earlier after a failed run, later after a repetition. */
  async findUnread(since: string, now: () => number): Promise<string> {
    const seen = new Set<string>();
    let from = since;
    while (!seen.has(from)) {
      seen.add(from);
      from = (await this.#getIdle(from, now)) ?? from;
    }
    return from;
  }

  /** Waits for a run that is reading: if it fails, its leads are to be returned too. */
  async #getIdle(end: string, now: () => number): Promise<string | undefined> {
    for (let checks = 0; checks < MAX_BUSY_CHECKS; checks += 1) {
      const mark = await this.#get(end);
      if (!mark?.busyUntil || mark.busyUntil <= now()) return mark?.unreadFrom;
      await sleep(BUSY_CHECK_MS);
    }
    throw stillBusy();
  }

  /** Returns whether all marks were stored. */
  async mark(
    ends: ReadonlySet<string>,
    unreadFrom: string,
    busyUntil: number | null = null,
  ): Promise<boolean> {
    const mark: Mark = { unreadFrom, busyUntil };
    try {
      await Promise.all([...ends].map((end) => this.#z.cache.set(this.#keyOf(end), mark, KEPT_FOR_S)));
      return true;
    } catch {
      return false;
    }
  }

  async #get(end: string): Promise<Mark | undefined> {
    try {
      const mark: Mark | null = await this.#z.cache.get(this.#keyOf(end));
      return mark ?? undefined;
    } catch {
      return undefined;
    }
  }

  readonly #keyOf = (end: string): string => `leadtap ${this.#hookId} ${end}`;
}
