/** What must be undone at the end, last things first, however the end comes. */
export class CleanUps {
  readonly #works: (() => unknown)[] = [];

  add(work: () => unknown): void {
    this.#works.unshift(work);
  }

  async run(): Promise<void> {
    for (const work of this.#works.splice(0)) await work();
  }
}
