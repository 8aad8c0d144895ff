type Step = () => Promise<unknown> | unknown;

/** What must be ended or removed, the youngest first; also when the bench is interrupted. */
export class Cleanup {
  #steps: Step[] = [];

  add(step: Step): void {
    this.#steps.push(step);
  }

  /** Takes care of what has a `stop` or a `remove`, and gives it back. */
  own<T extends { stop(): Promise<unknown> } | { remove(): Promise<unknown> }>(thing: T): T {
    this.add(() => ('remove' in thing ? thing.remove() : thing.stop()));
    return thing;
  }

  async run(): Promise<void> {
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) await step();
  }
}
