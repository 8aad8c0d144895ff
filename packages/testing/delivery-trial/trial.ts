import { setTimeout as wait } from 'node:timers/promises';
import type { Actor } from './actor.ts';
import type { Client, StoredLead } from './judge/history.ts';
import { judge, type Verdict } from './judge/judge.ts';
import { Recorder } from './judge/recorder.ts';
import type { Installation } from './pollers/http-caller.ts';
import { PollFailedError, TrialPoller } from './pollers/poller.ts';
import type { PollerSetup } from './pollers/profiles.ts';
import { Random } from './random.ts';

export interface TrialOptions {
  readonly installation: Installation;
  readonly pollers: readonly PollerSetup[];
  /** Reads all leads, when nothing is written any more. */
  readonly readStored: () => Promise<StoredLead[]>;
  /**
   * Whether a poll of this client may fail in a declared form: while a server is down, or while the client's company is deleted. The
   * status is undefined if there was no answer.
   */
  readonly mayFail?: (client: Client, status: number | undefined) => boolean;
}

export interface RunOptions {
  readonly seed: number;
  /** Asked before each piece of work of an actor, with the number of those that it has done. */
  readonly isEnough: (done: number) => boolean;
}

/** How long all clients may take until they are answered after the last fault, also on a busy machine. */
const RECOVERY_MS = 600_000;
const PAUSE_AFTER_FAILURE_MS = 25;
/** The connection was closed, or the client gave up. */
const NO_ANSWER = { status: undefined, isDeclared: true };

/** Actors on one side, clients over HTTP on the other, and a judge who has seen every page. */
export class Trial {
  readonly recorder = new Recorder();
  readonly pollers: readonly TrialPoller[];
  readonly #options: TrialOptions;

  constructor(options: TrialOptions) {
    this.#options = options;
    this.pollers = options.pollers.map(
      (setup) => new TrialPoller(options.installation, setup, this.recorder),
    );
  }

  /** All actors work, and whenever something has changed, all clients poll. */
  async run(actors: readonly Actor[], { seed, isEnough }: RunOptions): Promise<void> {
    const over = new AbortController();
    const working = actors.map((actor, index) =>
      actor.run({
        recorder: this.recorder,
        random: new Random(seed * 1009 + index),
        goesOn: (done) => !isEnough(done) && !over.signal.aborted,
        pause: async (ms) => {
          await wait(ms, undefined, { signal: over.signal }).catch(() => undefined);
        },
      }),
    );
    // One that fails ends the others.
    for (const work of working) work.catch(() => over.abort());
    await this.pollDuring(
      Promise.allSettled(working).then((ends) => {
        for (const end of ends) if (end.status === 'rejected') throw end.reason;
      }),
      (client) => this.recorder.nextChange(client.scope.companyId),
    );
  }

  /** All clients poll again and again, and wait in between for what is worth another poll. */
  async pollDuring(
    work: Promise<unknown>,
    change: (client: Client) => Promise<void> = async () => undefined,
  ): Promise<void> {
    let isOver = false;
    const over = work.finally(() => {
      isOver = true;
    });
    const polling = this.pollers.map(async (poller) => {
      while (!isOver) {
        await this.#pollOrCount(poller);
        await Promise.race([change(poller.setup.client), over.catch(() => undefined)]);
      }
    });
    await Promise.all([over, ...polling]);
  }

  /** One round of those clients. */
  async pollOnce(isMeant: (client: Client) => boolean = () => true): Promise<void> {
    const meant = this.pollers.filter(({ setup }) => isMeant(setup.client));
    await Promise.all(meant.map((poller) => this.#pollOrCount(poller)));
  }

  /** Every client polls until it is answered. */
  async recover(): Promise<void> {
    await Promise.all(this.pollers.map((poller) => this.#pollAtLast(poller)));
  }

  /** All clients poll once more. What one has not got by then it never gets: it lies before what the client remembers. */
  async finish(): Promise<Verdict> {
    await this.recover();
    return judge(this.recorder.history(await this.#options.readStored()));
  }

  async #pollAtLast(poller: TrialPoller): Promise<void> {
    for (const deadline = performance.now() + RECOVERY_MS; ; await wait(PAUSE_AFTER_FAILURE_MS)) {
      try {
        return await poller.poll();
      } catch (error) {
        if (performance.now() < deadline) continue;
        this.recorder.complain(
          `${poller.setup.client.name} is still refused after ten minutes: ${String(error)}`,
        );
        return;
      }
    }
  }

  async #pollOrCount(poller: TrialPoller): Promise<void> {
    try {
      await poller.poll();
    } catch (error) {
      const { client } = poller.setup;
      const { status, isDeclared } = error instanceof PollFailedError ? error : NO_ANSWER;
      this.recorder.count(`polls answered ${status ?? 'not at all'}`);
      if (!isDeclared || !this.#options.mayFail?.(client, status))
        this.recorder.complain(`${client.name}: ${String(error)}`);
      await wait(PAUSE_AFTER_FAILURE_MS);
    }
  }
}
