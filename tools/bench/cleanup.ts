type Step = () => Promise<unknown> | unknown;

/** Stops and removes everything that was started, the youngest first; also when the bench is interrupted. */
export class Cleanup {
  readonly #steps: Step[] = [];

  add(step: Step): void {
    this.#steps.push(step);
  }

  own<T extends { stop(): Promise<unknown> } | { remove(): Promise<unknown> }>(resource: T): T {
    this.add(() => ('remove' in resource ? resource.remove() : resource.stop()));
    return resource;
  }

  async run(): Promise<void> {
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) await step();
  }
}
