import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

/** Runs a fixture script as a process, and exchanges lines with it. */
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

  send(line: string): void {
    this.#child.stdin.write(`${line}\n`);
  }

  async receive(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error('the process exited before it answered');
    return value;
  }

  /** Closes stdin and waits for the exit. */
  async end(): Promise<void> {
    this.#child.stdin.end();
    await this.#ended;
  }
}
