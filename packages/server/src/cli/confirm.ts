import { createInterface } from 'node:readline';
import type { CommandContext } from './context.ts';
import { exitCodeOf } from './exit.ts';
import { Failure } from './failure.ts';
import { write } from './output.ts';

/** Whether a person can be asked: they see standard error and type into standard input. */
export const isInteractive = ({ stdin, stderr }: CommandContext): boolean =>
  'isTTY' in stdin && stdin.isTTY === true && stderr.isTTY === true;

export interface ConfirmFlags {
  readonly yes?: true;
  readonly dryRun?: true;
}

/** For commands that delete: a script must say --yes. Called before anything is read. */
export function requireConsent(command: string, flags: ConfirmFlags, context: CommandContext): void {
  if (flags.yes || flags.dryRun || isInteractive(context)) return;
  throw new Failure(
    'usage',
    `${command} asks before it deletes, and there is no terminal to ask on`,
    'Add --yes to delete without a question, or --dry-run to see what would be deleted.',
  );
}

/** Asks on the terminal. Only `y` and `yes` mean yes. */
export async function confirm(question: string, { stdin, stderr, signal }: CommandContext): Promise<boolean> {
  await write(stderr, `${question} [y/N] `);
  const lines = createInterface({ input: stdin, signal });
  let answer = '';
  for await (const line of lines) {
    answer = line;
    break;
  }
  lines.close();
  if (signal.aborted) throw exitCodeOf(signal);
  return /^\s*y(es)?\s*$/i.test(answer);
}
