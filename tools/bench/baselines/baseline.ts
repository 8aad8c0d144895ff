import { ChildProgram } from '../child-program.ts';
import type { Canned, Listening } from './messages.ts';

/** A server to compare with, in a process of its own. */
export interface Baseline {
  readonly port: number;
  readonly pid: number;
  /** What to answer from now on. */
  answer(canned: Canned): Promise<void>;
  stop(): Promise<void>;
}

const PROGRAMS = {
  bare: './baselines/bare.js',
  raw: './baselines/raw.js',
  'hand-written': './baselines/hand-written.js',
};

export async function startBaseline(
  name: keyof typeof PROGRAMS,
  ...argv: readonly string[]
): Promise<Baseline> {
  const program = new ChildProgram<Canned, Listening>(PROGRAMS[name], argv);
  const { port } = await program.ask({ answers: [] });
  return {
    port,
    pid: program.pid,
    answer: async (canned) => void (await program.ask(canned)),
    stop: () => program.stop(),
  };
}
