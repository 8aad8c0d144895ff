/** How the person started this program, so that every command it prints can be pasted where it was printed. */
import { basename, delimiter, dirname, relative } from 'node:path';
import { quoteForShell } from '../escape.ts';

/** `leadtap` if that is on the PATH, `npx leadtap` below npm, otherwise the path of the program. */
export function invocationOf(
  env: Readonly<Record<string, string | undefined>>,
  script: string,
  cwd: string,
): string {
  // npm adds its own folders to the PATH, for this process only.
  if (env['npm_command']) return 'npx leadtap';
  const isOnPath = (env['PATH'] ?? '').split(delimiter).includes(dirname(script));
  if (isOnPath && basename(script) === 'leadtap') return 'leadtap';
  const inFolder = relative(cwd, script);
  const path = inFolder.startsWith('..') ? script : inFolder;
  const quoted = quoteForShell(path);
  return path.endsWith('.js') ? `node ${quoted}` : quoted;
}

/** `leadtap` as a command: in backquotes, indented, after `Usage:` (with colours), a pipe, a variable, `;` or "with". Not in `leadtap: an error` or in prose. */
// What is before the word is read after the word was found: otherwise it would be read at each of many spaces.
const COMMAND = /leadtap(?<=(?:^ +|`|Usage:\S* | {2}|\| |; |with |=\S+ )leadtap)(?= )/gm;

/** A text of this program, with commands that can be pasted. */
export const withInvocation = (text: string, { invocation = 'leadtap' }: { invocation?: string }): string =>
  text.replace(COMMAND, () => invocation);
