import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/**
 * A program of the bench that runs as a process of its own and answers each message with one. It ends when its parent
 * does, however that happens: its channel breaks.
 */
export class ChildProgram<Message extends object, Answer> {
  readonly pid: number;
  readonly #process: ChildProcess;
  #last: Promise<unknown> = Promise.resolve();

  /** `path` is relative to this file, as the compiler leaves it. */
  constructor(path: string, argv: readonly string[] = []) {
    const file = fileURLToPath(new URL(path, import.meta.url));
    this.#process = fork(file, argv, { serialization: 'advanced' });
    this.pid = this.#process.pid ?? 0;
  }

  /** One after the other. */
  ask(message: Message): Promise<Answer> {
    const answer = this.#last.then(() => this.#ask(message));
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  async #ask(message: Message): Promise<Answer> {
    const abort = new AbortController();
    const { signal } = abort;
    try {
      const answered = once(this.#process, 'message', { signal });
      const ended = once(this.#process, 'exit', { signal }).then(([code]) => {
        throw new Error(`${this.#process.spawnargs.at(-1)} ended with ${code}`);
      });
      this.#process.send(message);
      const [answer] = await Promise.race([answered, ended]);
      return answer as Answer;
    } finally {
      abort.abort();
    }
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, 'exit');
    this.#process.kill();
    await ended;
  }
}
