/** Counts in equal steps of time, of which the last ones are kept: a ring. */
export class StepCounts {
  readonly #counts: Uint32Array;
  #lastStep: number;

  /** Steps are counted since 1970. */
  constructor(steps: number, firstStep: number) {
    this.#counts = new Uint32Array(steps);
    this.#lastStep = firstStep;
  }

  add(step: number, count: number): void {
    const { length } = this.#counts;
    for (let skipped = Math.max(this.#lastStep, step - length) + 1; skipped <= step; skipped += 1)
      this.#counts[skipped % length] = 0;
    // A clock that was set back counts in the last step.
    this.#lastStep = Math.max(this.#lastStep, step);
    const slot = this.#lastStep % length;
    this.#counts[slot] = (this.#counts[slot] ?? 0) + count;
  }

  /** Whether nothing was added in any step that is still kept. */
  isOver(current: number): boolean {
    return this.#lastStep <= current - this.#counts.length;
  }

  /** The counts of the steps up to the current one, which is last. */
  read(current: number, steps = this.#counts.length): number[] {
    const { length } = this.#counts;
    return Array.from({ length: steps }, (_, index) => {
      const step = current - steps + 1 + index;
      const isKept = step <= this.#lastStep && step > this.#lastStep - length;
      return isKept ? (this.#counts[step % length] ?? 0) : 0;
    });
  }
}
