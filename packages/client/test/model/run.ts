import type { Checkpoint, CheckpointStore, Environment } from '@leadtap/client';

/** What a process that has died gets from anything it waits for. */
const never = <T>() => new Promise<T>(() => undefined);

/** One life of the consumer's process: dead, it sends, saves and hears nothing any more. */
export class Run {
  readonly stop = new AbortController();
  readonly killed: Promise<'killed'>;
  readonly #gone = new AbortController();

  constructor() {
    this.killed = new Promise((resolve) => {
      this.#gone.signal.addEventListener('abort', () => resolve('killed'));
    });
  }

  get isAlive(): boolean {
    return !this.#gone.signal.aborted;
  }

  kill(): void {
    this.#gone.abort();
  }

  environment(world: Environment): Environment {
    return {
      ...world,
      fetch: (url, init) =>
        this.#whileAlive(() =>
          world.fetch(url, { ...init, signal: AbortSignal.any([init.signal, this.#gone.signal]) }),
        ),
      sleep: (ms, signal) => this.#whileAlive(() => world.sleep(ms, signal)),
    };
  }

  store(world: CheckpointStore): CheckpointStore {
    return {
      load: () => world.load(),
      save: (checkpoint: Checkpoint) => this.#whileAlive(async () => world.save(checkpoint)),
    };
  }

  async #whileAlive<T>(work: () => Promise<T>): Promise<T> {
    if (!this.isAlive) return never();
    try {
      const result = await work();
      return this.isAlive ? result : await never<T>();
    } catch (error) {
      return this.isAlive ? Promise.reject(error) : never<T>();
    }
  }
}
