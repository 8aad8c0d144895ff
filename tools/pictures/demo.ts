import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';

const BIN = fileURLToPath(new URL('../../../../../packages/server/bin/leadtap.js', import.meta.url));
const FIXED_WORLD = new URL('./fixed-world.js', import.meta.url).href;

/** What `leadtap demo --json` prints. */
interface DemoFacts {
  readonly baseUrl: string;
  readonly consoleUrl: string;
  readonly statusUrl: string;
  /** Ada, Ben, Cleo, Dan and Zoe. */
  readonly callers: readonly { readonly token: string }[];
}

export interface Demo extends DemoFacts {
  stop(): Promise<void>;
}

/** The demo, for the pictures of its pages. */
export async function startDemo(): Promise<Demo> {
  const { output, stop } = await runDemo(['--json'], /^\}$/m);
  const facts: DemoFacts = JSON.parse(output);
  return { ...facts, stop };
}

/** What the demo prints, with colours. */
export async function readDemoScreen(): Promise<string> {
  const { output, stop } = await runDemo([], /#token=.+\n/);
  await stop();
  return output;
}

/** Starts `leadtap demo` on its usual port. Resolves when it has printed what `end` matches. */
async function runDemo(flags: readonly string[], end: RegExp) {
  const child = spawn(process.execPath, ['--import', FIXED_WORLD, BIN, 'demo', ...flags], {
    // Not here, where a .env of a developer may be.
    cwd: tmpdir(),
    // As below npm, so that it prints commands for the repository.
    env: { PATH: process.env['PATH'], LEADTAP_PORT: '3000', npm_command: 'run-script' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  while (!end.test(stripVTControlCharacters(output))) await nextOutput(child);
  const stop = async (): Promise<void> => {
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    await exit;
  };
  return { output, stop };
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
