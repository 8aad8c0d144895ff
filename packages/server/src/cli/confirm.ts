/** Questions to a person at a terminal. */
import { createInterface } from 'node:readline/promises';
import type { CommandContext } from './context.ts';
import { EXIT_CODES, ExitCode, Failure } from './exit.ts';
import { writeLine } from './output.ts';

/** A person can read the question and type an answer. */
export const isInteractive = ({ stdin, stderr }: CommandContext): boolean =>
  stdin.isTTY === true && stderr.isTTY === true;

export interface ConfirmFlags {
  readonly yes?: true;
  readonly dryRun?: true;
}

export interface HandledFlag {
  readonly handled?: true;
}

export const HANDLED_OPTION = {
  '--handled': 'mark what is owed then as handled, without a question',
} as const;

/** For commands that delete: a script must say --yes. Called before anything is read. */
export function requireConsent(
  command: string,
  flags: ConfirmFlags,
  context: CommandContext,
  fix = 'Add --yes to delete without a question, or --dry-run to see what would be deleted.',
): void {
  if (flags.yes || flags.dryRun || isInteractive(context)) return;
  throw new Failure('usage', `${command} asks before it deletes, and there is no terminal to ask on`, fix);
}

/** Ends the command if the person does not agree. */
export async function confirmOrStop(
  question: string,
  { yes }: ConfirmFlags,
  context: CommandContext,
): Promise<void> {
  if (yes || (await confirm(question, context))) return;
  await writeLine(context.stderr, 'Nothing was deleted.');
  throw new ExitCode(EXIT_CODES.failed);
}

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
