/** Questions to a person at a terminal. */
import { createInterface } from 'node:readline/promises';
import type { CommandContext } from './context.ts';
import { writeLine } from './output.ts';

/** A person can read the question and type an answer. */
export const isInteractive = ({ stdin, stderr }: CommandContext): boolean =>
  stdin.isTTY === true && stderr.isTTY === true;

/** True after `y` or `yes`. Any other answer, and the end of the input, is a no. */
export async function confirm(question: string, { stdin, stderr, signal }: CommandContext): Promise<boolean> {
  // Without raw mode, so that Ctrl+C is a signal as everywhere else.
  const prompt = createInterface({ input: stdin, output: stderr, terminal: false });
  const ended = new Promise<undefined>((resolve) => {
    prompt.once('close', () => resolve(undefined));
  });
  try {
    const answer = await Promise.race([prompt.question(`${question} [y/N] `, { signal }), ended]);
    if (answer === undefined) await writeLine(stderr, '');
    return /^\s*y(es)?\s*$/i.test(answer ?? '');
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    prompt.close();
  }
}
