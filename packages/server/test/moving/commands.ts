import { Readable, Writable } from 'node:stream';
import type { CommandContext, Output } from '../../src/cli/context.ts';
import { main } from '../../src/cli/main.ts';
import type { Ends } from './ends.ts';

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command in this process and in the folder of the installation. */
export async function run(
  { folder }: Pick<Ends, 'folder'>,
  argv: readonly string[],
  parts: Partial<CommandContext> & { readonly isTTY?: boolean } = {},
): Promise<Ran> {
  const stdout = collect(parts.isTTY);
  const stderr = collect(parts.isTTY);
  const code = await main(argv, {
    env: {},
    cwd: folder,
    stdin: Readable.from([]),
    clock: () => Date.now(),
    signal: new AbortController().signal,
    ...parts,
    stdout: stdout.stream,
    stderr: stderr.stream,
  });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

function collect(isTTY = false): { readonly stream: Output; text(): string } {
  const chunks: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(String(chunk));
      done();
    },
  });
  return { stream: Object.assign(stream, { isTTY, columns: 100 }), text: () => chunks.join('') };
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
