import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Waits until its input ends, which happens however the process at the other end dies, then ends the server and removes
 * its folder. It is a process of its own, so that not even SIGKILL leaves a server behind.
 */
const SCRIPT = `
cat > /dev/null
kill -CONT $(cat "$1/paused.pids")
if pid=$(cat "$1/server.pid") && kill -s "$2" "$pid"; then
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    kill -0 "$pid" || break
    sleep 0.25
  done
  kill -KILL "$pid"
fi
rm -rf "$1"
`;

export class Guard {
  readonly #process: ChildProcess;
  readonly #gone: Promise<unknown>;

  /** Detached, so that it does not get the Ctrl-C that ends the tests. */
  constructor(folder: string, endSignal: NodeJS.Signals) {
    const argv = ['-c', SCRIPT, 'guard', folder, endSignal.replace(/^SIG/, '')];
    this.#process = spawn('/bin/sh', argv, { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
    this.#process.unref();
    this.#gone = once(this.#process, 'exit');
  }

  /** Lets it clean up now. */
  async release(): Promise<void> {
    // Keeps the process alive while something awaits it.
    this.#process.ref();
    this.#process.stdin?.end();
    await this.#gone;
  }
}
