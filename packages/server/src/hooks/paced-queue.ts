import { cpuUsage } from 'node:process';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { FairQueue } from '../lib/fair.ts';

/** Of the processor time of sending leads: so much is left for polls and all else. */
const PAUSE_FACTOR = 4;

/**
 * Work without end, such as leads for fast receivers: one piece at a time, and after each a pause that is a multiple of its processor time,
 * so that a part of the processor is left for all else.
 */
export class PacedQueue {
  readonly #queue = new FairQueue({ maxRunning: 1 });
  readonly #processorMs: () => number;

  constructor(processorMs = readProcessorMs) {
    this.#processorMs = processorMs;
  }

  /** Runs a piece in a turn of the event loop. What other requests use meanwhile counts too: the pause is longer while there are many. */
  run<Result>(companyId: string, piece: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      void this.#queue.run(companyId, companyId, async () => {
        await nextTurn();
        const before = this.#processorMs();
        await piece().then(resolve, reject);
        const spentMs = this.#processorMs() - before;
        if (spentMs > 0) await delay(spentMs * PAUSE_FACTOR);
      });
    });
  }
}

/** Not the time that passes: on a busy machine, the process does not run for most of it. */
function readProcessorMs(): number {
  const { user, system } = cpuUsage();
  return (user + system) / 1000;
}
