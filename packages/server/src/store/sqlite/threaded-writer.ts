import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { errorWithCode } from '../sqlite-result-code.ts';
import {
  StoreUnavailableError,
  UnusableDatabaseError,
  type WriteOptions,
  type WriteOutcome,
} from '../store.ts';
import type { PackedLead } from './packed-lead.ts';
import type { ThreadAnswer, ThreadOptions, ThreadRequest } from './writing-thread.ts';

/** Not there when the sources are run as they stand, as tests do: Node cannot load them in a thread. */
const PROGRAM = new URL('./writing-thread.js', import.meta.url);

export const canUseThread = (): boolean => existsSync(fileURLToPath(PROGRAM));

/** Errors lose their class on the way from thread to thread. */
const ERRORS = new Map<string, new (message: string, options?: ErrorOptions) => Error>([
  [StoreUnavailableError.name, StoreUnavailableError],
  [UnusableDatabaseError.name, UnusableDatabaseError],
]);

/** Writes leads in a thread of its own, one batch after the other. */
export class ThreadedWriter {
  readonly #thread: Worker;
  readonly #ended: Promise<never>;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: ThreadOptions) {
    // That Node calls its SQLite experimental is no news, nor is it where this thread was started.
    const execArgv = ['--disable-warning=ExperimentalWarning'];
    this.#thread = new Worker(PROGRAM, { workerData: options, execArgv });
    this.#ended = new Promise((_resolve, reject) => {
      this.#thread.once('error', reject);
      this.#thread.once('exit', (code) => reject(new Error(`the thread that writes ended with ${code}`)));
    });
    // Whoever waits for an answer hears of it.
    this.#ended.catch(() => undefined);
  }

  write(leads: readonly PackedLead[], options: WriteOptions): Promise<WriteOutcome | undefined> {
    const written = this.#last.then(() => this.#ask({ leads, options }));
    this.#last = written.catch(() => undefined);
    return written;
  }

  async close(): Promise<void> {
    await this.#last;
    await this.#thread.terminate();
  }

  async #ask(request: ThreadRequest): Promise<WriteOutcome | undefined> {
    const answered: Promise<ThreadAnswer> = new Promise((resolve) => this.#thread.once('message', resolve));
    this.#thread.postMessage(request);
    const answer = await Promise.race([answered, this.#ended]);
    if ('outcome' in answer) return answer.outcome;
    const { name, message, code } = answer.failure;
    const cause = code === undefined ? undefined : errorWithCode(code);
    throw new (ERRORS.get(name) ?? Error)(message, { cause });
  }
}
