/** The sleep of a poller's process in the time of the world: it ends when the world polls, if it is due by then. */
export class VirtualSleep {
  readonly #now: () => number;
  #wakesAt = 0;
  #wake = (): void => undefined;
  #fellAsleep = (): void => undefined;
  #asleep: Promise<void>;

  constructor(now: () => number) {
    this.#now = now;
    this.#asleep = this.#willSleep();
  }

  readonly sleep = (ms: number): Promise<void> => {
    this.#wakesAt = this.#now() + ms;
    this.#fellAsleep();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  };

  /** Wakes the process if it is due. Resolves when it sleeps for longer than until now. */
  untilAsleep(): Promise<void> {
    if (this.#now() >= this.#wakesAt) {
      this.#asleep = this.#willSleep();
      this.#wake();
    }
    return this.#asleep;
  }

  #willSleep(): Promise<void> {
    return new Promise((resolve) => {
      this.#fellAsleep = resolve;
    });
  }
}
