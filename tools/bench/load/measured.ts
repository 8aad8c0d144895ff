import { type ProcessorTimes, processorTimes, spentMs } from '../service/processor-time.ts';
import type { Load, LoadReport } from './messages.ts';

/** What was spent while the load ran, from its making to its `report`. */
export class Measured {
  readonly #processes: Load['processes'];
  readonly #before: ReadonlyMap<string, ProcessorTimes>;
  readonly #ownBefore: NodeJS.CpuUsage;
  readonly startedAt: number;

  constructor({ processes }: Load) {
    this.#processes = processes;
    this.#before = this.#sample();
    this.#ownBefore = process.cpuUsage();
    this.startedAt = performance.now();
  }

  report(answers: number, bytes: number): LoadReport {
    const seconds = (performance.now() - this.startedAt) / 1000;
    const { user, system } = process.cpuUsage(this.#ownBefore);
    const after = this.#sample();
    const processorMs = Object.fromEntries(
      [...after].map(([name, times]) => [name, spentMs(this.#before.get(name) ?? new Map(), times)]),
    );
    return { answers, seconds, bytes, processorMs, generatorMs: (user + system) / 1000 };
  }

  #sample(): Map<string, ProcessorTimes> {
    return new Map(Object.entries(this.#processes).map(([name, pids]) => [name, processorTimes(pids)]));
  }
}
