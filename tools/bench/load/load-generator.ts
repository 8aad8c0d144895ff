import { ChildProgram } from '../child-program.ts';
import type { Command, End, Load, LoadReport, Reply, RequestSet } from './messages.ts';

/** The process that makes the load. */
export class LoadGenerator {
  readonly #program = new ChildProgram<Command, Reply>('./load/generator.js');

  /** Known by their name from now on. */
  async learn(set: RequestSet): Promise<void> {
    await this.#ask({ kind: 'requests', ...set });
  }

  closedLoop(load: Load, end: End): Promise<LoadReport> {
    return this.#measure({ kind: 'closed-loop', end, ...load });
  }

  /** Every request of the set once. */
  once(load: Load): Promise<LoadReport> {
    return this.closedLoop(load, { answersEach: 1 });
  }

  fixedRate(load: Load, rate: number, seconds: number): Promise<LoadReport> {
    return this.#measure({ kind: 'fixed-rate', rate, seconds, ...load });
  }

  stop(): Promise<void> {
    return this.#program.stop();
  }

  async #measure(command: Command): Promise<LoadReport> {
    const reply = await this.#ask(command);
    if (reply.kind !== 'report') throw new Error(`the load generator said ${reply.kind}`);
    return reply.report;
  }

  async #ask(command: Command): Promise<Reply> {
    const reply = await this.#program.ask(command);
    if (reply.kind === 'failed') throw new Error(`the load: ${reply.message}`);
    return reply;
  }
}
