import { Readable } from 'node:stream';
import type { CommandContext } from '../../src/cli/context.ts';
import { main } from '../../src/cli/main.ts';
import { captureStream, type Ran } from '../cli/capture-stream.ts';
import type { Endpoints } from './endpoints.ts';

/** Runs a command in this process, in the folder of the installation. */
export async function run(
  { folder }: Pick<Endpoints, 'folder'>,
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

/** The arguments of a move, and further ones. */
export const moveArgv = ({ from, to }: Endpoints, ...more: readonly string[]): string[] => [
  'migrate',
  '--from',
  from,
  '--to',
  to,
  ...more,
];

export const runMove = (endpoints: Endpoints, ...more: readonly string[]): Promise<Ran> =>
  run(endpoints, moveArgv(endpoints, ...more));
