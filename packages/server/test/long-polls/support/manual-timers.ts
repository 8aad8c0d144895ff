import type { Schedule } from '../../../src/poll/long-polls.ts';

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/** Timers that run when the test moves the time. */
export class ManualTimers {
  nowMs = 0;
  readonly #timers = new Set<Timer>();

  readonly schedule: Schedule = (callback, delayMs) => {
    const timer = { at: this.nowMs + Math.max(0, delayMs), callback };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  };

  get size(): number {
    return this.#timers.size;
  }

  /** Runs what is due, in its order. Work that a timer starts is finished before the next one. */
  async advance(ms: number): Promise<void> {
    const until = this.nowMs + ms;
    for (;;) {
      const [next] = [...this.#timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
      if (!next) break;
      this.#timers.delete(next);
      this.nowMs = next.at;
      next.callback();
      await settle();
    }
    this.nowMs = until;
  }
}

/** Promises and the turns of the event loop that batches wait for, for work without I/O. */
export const settle = (): Promise<void> => passTurns(10);

export async function passTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
