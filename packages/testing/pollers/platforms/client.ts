import { type Checkpoint, type Environment as ClientSurroundings, newLeads } from '@leadtap/client';
import type { Environment, MakePoller } from '../poller.ts';

/** One process with a loop over `newLeads`. It has a schedule of its own, and sleeps until the world wakes it. */
class Loop {
  readonly #now: () => number;
  readonly #ended: Promise<void>;
  #wakesAt = 0;
  #wake = (): void => undefined;
  #fellAsleep = (): void => undefined;
  #asleep: Promise<void>;

  constructor(
    { connection, now, handOn, store }: Environment,
    load: () => Checkpoint | undefined,
    save: (checkpoint: Checkpoint) => void,
  ) {
    this.#now = now;
    this.#asleep = this.#willSleep();
    const environment: Partial<ClientSurroundings> = {
      now,
      random: () => 0.5,
      sleep: (ms) => this.#sleep(ms),
    };
    const checkpoint = { load, save: (saved: Checkpoint) => store(() => save(saved)) };
    const run = async () => {
      for await (const lead of newLeads({ ...connection, checkpoint, environment })) handOn(lead);
    };
    this.#ended = run();
    // The poll sees the error; a loop that is no longer awaited is a process that was killed.
    this.#ended.catch(() => undefined);
  }

  /** Is over when the loop sleeps for longer than until now. */
  async untilAsleep(): Promise<void> {
    if (this.#now() >= this.#wakesAt) {
      this.#asleep = this.#willSleep();
      this.#wake();
    }
    await Promise.race([this.#asleep, this.#ended]);
  }

  #willSleep(): Promise<void> {
    return new Promise((resolve) => {
      this.#fellAsleep = resolve;
    });
  }

  #sleep(ms: number): Promise<void> {
    this.#wakesAt = this.#now() + ms;
    this.#fellAsleep();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/** A program with our client and a checkpoint that outlives it. */
export const client: MakePoller = (environment) => {
  let saved: string | undefined;
  let loop: Loop | undefined;
  const begin = () =>
    new Loop(
      environment,
      () => (saved === undefined ? undefined : JSON.parse(saved)),
      (checkpoint) => {
        saved = JSON.stringify(checkpoint);
      },
    );
  const poll = () => {
    loop ??= begin();
    return loop.untilAsleep();
  };
  return {
    turnOn: poll,
    poll,
    restart: () => {
      loop = undefined;
    },
  };
};
