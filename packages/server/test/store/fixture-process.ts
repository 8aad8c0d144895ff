import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

/** A script beside the tests, running as a process of its own that is spoken to line by line. */
export class FixtureProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<unknown>;

  constructor(script: URL, ...argv: readonly string[]) {
    this.#child = spawn(process.execPath, ['--no-warnings', fileURLToPath(script), ...argv]);
    onTestFinished(() => void this.#child.kill('SIGKILL'));
    this.#child.stderr.pipe(process.stderr);
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
    this.#ended = once(this.#child, 'close');
  }

  say(line: string): void {
    this.#child.stdin.write(`${line}\n`);
  }

  async hear(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error('the process ended before it answered');
    return value;
  }

  /** Lets it come to its end. */
  async end(): Promise<void> {
    this.#child.stdin.end();
    await this.#ended;
  }
}

/** Runs a program to its end. */
export async function runToEnd(command: string, ...argv: readonly string[]) {
  const child = spawn(command, argv);
  onTestFinished(() => void child.kill('SIGKILL'));
  let stdout = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  const [code] = await once(child, 'close');
  return { code: Number(code), stdout };
}
