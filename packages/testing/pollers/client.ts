import { type Checkpoint, newLeads } from '@leadtap/client';
import type { Environment, MakePoller, Poller } from './poller.ts';
import { VirtualSleep } from './virtual-sleep.ts';

const never = <T>() => new Promise<T>(() => undefined);

/** One process with a loop over `newLeads`. It has a schedule of its own, and sleeps until the world wakes it. */
class Loop {
  readonly #ended: Promise<void>;
  readonly #sleep: VirtualSleep;
  readonly #untilHeld: Environment['untilHeld'];
  readonly #killed = new AbortController();

  constructor(
    { connection, now, handOn, store, untilHeld }: Environment,
    instant: boolean,
    load: () => Checkpoint | undefined,
    save: (checkpoint: Checkpoint) => void,
  ) {
    this.#sleep = new VirtualSleep(now);
    this.#untilHeld = untilHeld;
    const { signal: killed } = this.#killed;
    const environment = {
      now,
      random: () => 0.5,
      sleep: this.#sleep.sleep,
      fetch: (url: string, init: { readonly signal: AbortSignal }) =>
        fetch(url, { ...init, signal: AbortSignal.any([init.signal, killed]) }).catch((error: unknown) =>
          killed.aborted ? never<Response>() : Promise.reject(error),
        ),
    };
    const checkpoint = { load, save: (saved: Checkpoint) => store(() => save(saved)) };
    const run = async () => {
      for await (const lead of newLeads({ ...connection, instant, checkpoint, environment })) handOn(lead);
    };
    this.#ended = run();
    // The poll sees the error; a loop that is no longer awaited is a process that was killed.
    this.#ended.catch(() => undefined);
  }

  /** Is over when the loop sleeps for longer than until now, or waits for a lead. */
  async untilIdle(): Promise<void> {
    await Promise.race([this.#sleep.untilAsleep(), this.#ended, this.#untilHeld()]);
  }

  kill(): void {
    this.#killed.abort();
  }
}

/** A program with our client and a checkpoint that outlives it. */
function runClient(environment: Environment, instant: boolean): Poller {
  let saved: string | undefined;
  let loop: Loop | undefined;
  const begin = () =>
    new Loop(
      environment,
      instant,
      () => (saved === undefined ? undefined : JSON.parse(saved)),
      (checkpoint) => {
        saved = JSON.stringify(checkpoint);
      },
    );
  const poll = () => {
    loop ??= begin();
    return loop.untilIdle();
  };
  return {
    turnOn: poll,
    poll,
    restart: () => {
      loop?.kill();
      loop = undefined;
    },
  };
}

export const client: MakePoller = (environment) => runClient(environment, false);

/** With `instant: true`. */
export const clientInstant: MakePoller = (environment) => runClient(environment, true);
