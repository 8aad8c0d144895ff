import type { Clock } from 'leadtap';

/** Stands still until it is moved, and can let something begin just after a store has read it. */
export class SteppedClock {
  now = Date.UTC(2026, 2, 2, 9, 30);
  #begin: (() => void) | undefined;

  readonly read: Clock = () => {
    const { now } = this;
    const begin = this.#begin;
    this.#begin = undefined;
    begin?.();
    return now;
  };

  afterNextRead(begin: () => void): void {
    this.#begin = begin;
  }

  /** For a write that reads no time, because all of its leads are rejected. */
  cancelNextRead(): void {
    this.#begin = undefined;
  }
}
