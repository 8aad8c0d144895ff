import {
  type ChildProcessWithoutNullStreams,
  type SpawnOptionsWithoutStdio,
  spawn,
} from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { tempFolder } from './temp-folder.ts';

const BIN = fileURLToPath(new URL('../../server/bin/leadtap.js', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface LeadtapProcess {
  readonly child: ChildProcessWithoutNullStreams;
  /** Lines of standard output, as they come. */
  readonly lines: AsyncIterator<string, undefined>;
  readonly ended: Promise<Ended>;
}

/** The built program as a process of its own, with no settings but those given. */
export function spawnLeadtap(
  argv: readonly string[],
  env: Record<string, string> = {},
  cwd = tempFolder(),
  /** A limit as the shell's `ulimit` takes it. */
  ulimit?: string,
  /** Of another version. */
  bin = BIN,
): LeadtapProcess {
  const limited = ulimit === undefined ? [] : ['sh', '-c', `ulimit ${ulimit} && exec "$0" "$@"`];
  return spawnProgram([...limited, process.execPath, bin, ...argv], {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', ...env },
  });
}

/** Any program that runs Leadtap, killed when the test ends. */
export function spawnProgram(
  [program = '', ...argv]: readonly string[],
  options: SpawnOptionsWithoutStdio,
): LeadtapProcess {
  const child = spawn(program, argv, options);
  const collected = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => {
    collected.stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    collected.stderr += chunk;
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, ...collected }));
  // Waited for: until then it may write to the folder that is removed next.
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { child, lines, ended };
}

export const runLeadtap = (
  argv: readonly string[],
  env?: Record<string, string>,
  cwd?: string,
): Promise<Ended> => spawnLeadtap(argv, env, cwd).ended;
