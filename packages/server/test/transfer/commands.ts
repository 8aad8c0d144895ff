import { Readable } from 'node:stream';
import type { CommandContext } from '../../src/cli/context.ts';
import { main } from '../../src/cli/main.ts';
import { captureStream, type Ran } from '../cli/capture-stream.ts';
import type { Ends } from './ends.ts';

/** Runs a command in this process, in the folder of the installation, and on the clock that its service had. */
export async function run(
  { folder }: Pick<Ends, 'folder'>,
  argv: readonly string[],
  parts: Partial<CommandContext> & { readonly isTTY?: boolean } = {},
): Promise<Ran> {
  const stdout = captureStream(parts.isTTY);
  const stderr = captureStream(parts.isTTY);
  const code = await main(argv, {
    env: {},
    cwd: folder,
    stdin: Readable.from([]),
    clock: () => Date.now(),
    signal: new AbortController().signal,
    ...parts,
    stdout,
    stderr,
  });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

/** The command that these tests are about, with what a test adds to it. */
export const moveArgv = ({ from, to }: Ends, ...more: readonly string[]): string[] => [
  'migrate',
  '--from',
  from,
  '--to',
  to,
  ...more,
];

export const moveUp = (ends: Ends, ...more: readonly string[]): Promise<Ran> =>
  run(ends, moveArgv(ends, ...more));
