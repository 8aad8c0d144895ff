/** How the person started this program, so that every command it prints can be pasted where it was printed. */
import { basename, delimiter, dirname, relative, resolve, sep } from 'node:path';
import { quoteForShell } from '../lib/escape.ts';

/** Windows has backslashes in paths. */
const quotePath = sep === '\\' ? (path: string) => path : quoteForShell;

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
  // Node gives the path of a script, but the name of the single executable as it was typed: without a folder, it is on the PATH.
  if (basename(script) === script) return quotePath(script);
  const inFolder = relative(cwd, resolve(cwd, script));
  const path = inFolder.startsWith('..') ? script : inFolder;
  if (path.endsWith('.js')) return `node ${quotePath(path)}`;
  // A shell looks for a name without a folder on the PATH only.
  return quotePath(path.includes(sep) ? path : `.${sep}${path}`);
}

/** `leadtap` as a command: in backquotes, indented, after `Usage:` (with colours), a pipe, a variable, `;` or "with". Not in `leadtap: an error` or in prose. */
// What is before the word is read after the word was found: otherwise it would be read at each of many spaces.
const COMMAND = /leadtap(?<=(?:^ +|`|Usage:\S* | {2}|\| |; |with |=\S+ )leadtap)(?= )/gm;

/** A text of this program, with commands that can be pasted. */
export const withInvocation = (text: string, { invocation = 'leadtap' }: { invocation?: string }): string =>
  text.replace(COMMAND, () => invocation);
