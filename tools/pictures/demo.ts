import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';

const BIN = fileURLToPath(new URL('../../../../../packages/server/bin/leadtap.js', import.meta.url));
const FIXED_WORLD = new URL('./fixed-world.js', import.meta.url).href;

export interface Demo {
  readonly consoleUrl: string;
  readonly statusUrl: string;
  /** Of Ada, Ben, Cleo, Dan and Zoe. */
  readonly tokens: readonly string[];
  /** All that the demo has printed so far, with colours. */
  output(): string;
  /** Resolves when so many leads have arrived. */
  leads(count: number): Promise<void>;
  stop(): Promise<void>;
}

const NEW_LEAD = /^ {2}\d{4}-\S+Z {2}/gm;

/** Starts `leadtap demo` on its usual port, and reads the addresses from what it prints. */
export async function startDemo(): Promise<Demo> {
  const child = spawn(process.execPath, ['--import', FIXED_WORLD, BIN, 'demo'], {
    // Not here, where a .env of a developer may be.
    cwd: tmpdir(),
    env: { PATH: process.env['PATH'], LEADTAP_PORT: '3000' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const until = async (isDone: (plain: string) => boolean): Promise<void> => {
    while (!isDone(stripVTControlCharacters(output))) await nextOutput(child);
  };
  const leads = (count: number) => until((plain) => (plain.match(NEW_LEAD) ?? []).length >= count);
  await leads(1);
  const plain = stripVTControlCharacters(output);
  const find = (pattern: RegExp): string => {
    const [found] = pattern.exec(plain) ?? [];
    if (found === undefined) throw new Error(`the demo printed nothing like ${pattern}:\n${plain}`);
    return found;
  };
  const tokens = [...plain.matchAll(/Bearer (\S+)' 'http\S+limit=3/g)].map(([, token = '']) => token);
  return {
    consoleUrl: find(/http:\S+#token=\S+/),
    statusUrl: find(/http:\S+\/status/),
    tokens,
    output: () => output,
    leads,
    stop: async () => {
      const exit = once(child, 'exit');
      child.kill('SIGTERM');
      await exit;
    },
  };
}

async function nextOutput(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || !child.stdout) throw new Error('the demo has ended');
  const ended = new AbortController();
  const exit = once(child, 'exit', { signal: ended.signal }).then(() => {
    throw new Error('the demo has ended');
  });
  exit.catch(() => undefined);
  try {
    await Promise.race([once(child.stdout, 'data', { signal: ended.signal }), exit]);
  } finally {
    ended.abort();
  }
}
