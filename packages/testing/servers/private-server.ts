import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { Guard } from './guard.ts';
import { giveAway, unprivileged } from './unprivileged.ts';

/** Ends a wait that would have no end; no slow machine reaches it. */
const START_LIMIT_MS = 240_000;

export interface ServerOptions {
  readonly name: string;
  /** Ends the server at once and in order, and is safe to send at any time. */
  readonly endSignal: NodeJS.Signals;
}

export interface Run {
  readonly command: string;
  readonly argv: readonly string[];
  /** Rejects until the server answers. */
  readonly ask: () => Promise<unknown>;
}

/** A server of our own: on 127.0.0.1 and a free port, with a folder that goes when it goes. */
export class PrivateServer {
  readonly folder: string;
  readonly port: number;
  readonly #options: ServerOptions;
  readonly #guard: Guard;
  #process: ChildProcess | undefined;
  #paused: number[] = [];

  private constructor(options: ServerOptions, port: number) {
    this.#options = options;
    this.port = port;
    this.folder = mkdtempSync(join(tmpdir(), `leadtap-${options.name}-`));
    this.#guard = new Guard(this.folder, options.endSignal);
    giveAway(this.folder);
  }

  static async create(options: ServerOptions): Promise<PrivateServer> {
    return new PrivateServer(options, await freePort());
  }

  /** Undefined while it does not run. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Runs a program as the server's user and to its end, for what must be made before the server starts. */
  prepare(command: string, ...argv: readonly string[]): void {
    execFileSync(command, argv, { ...unprivileged, cwd: this.folder, stdio: ['ignore', 'ignore', 'pipe'] });
  }

  write(name: string, text: string): string {
    const path = join(this.folder, name);
    writeFileSync(path, text);
    giveAway(path);
    return path;
  }

  /** Starts it, and waits until it answers. */
  async start({ command, argv, ask }: Run): Promise<void> {
    if (this.#process) throw new Error(`${this.#options.name} runs already`);
    const log = join(this.folder, 'log');
    const output = openSync(log, 'a');
    const child = spawn(command, argv, {
      ...unprivileged,
      cwd: this.folder,
      detached: true,
      stdio: ['ignore', output, output],
    });
    closeSync(output);
    child.unref();
    child.once('exit', () => this.#ended());
    this.#process = child;
    this.write('server.pid', `${child.pid}\n`);
    for (const deadline = Date.now() + START_LIMIT_MS; ; await wait(20)) {
      if (!this.#process || Date.now() > deadline)
        throw new Error(`${this.#options.name} does not start:\n${readFileSync(log, 'utf8').slice(-2000)}`);
      if (await answers(ask)) return;
    }
  }

  /** Ends it with a signal, and waits until it has ended. */
  async end(signal: NodeJS.Signals = this.#options.endSignal): Promise<void> {
    const child = this.#process;
    if (!child) return;
    // Keeps the process alive while something awaits it.
    child.ref();
    const exit = once(child, 'exit');
    child.kill(signal);
    this.resume();
    await exit;
  }

  /** Stops it and its children where they stand: they keep their connections and answer nothing. */
  pause(): void {
    const { pid } = this;
    if (pid === undefined || this.#paused.length > 0) return;
    // The server before its children: it must not make more of them meanwhile.
    process.kill(pid, 'SIGSTOP');
    this.#paused = [...childrenOf(pid), pid];
    this.write('paused.pids', this.#paused.join(' '));
    for (const paused of this.#paused) process.kill(paused, 'SIGSTOP');
  }

  resume(): void {
    for (const pid of this.#paused.splice(0)) process.kill(pid, 'SIGCONT');
    rmSync(join(this.folder, 'paused.pids'), { force: true });
  }

  async remove(): Promise<void> {
    await this.end();
    await this.#guard.release();
  }

  #ended(): void {
    this.#process = undefined;
    this.#paused = [];
    rmSync(join(this.folder, 'server.pid'), { force: true });
  }
}

const answers = (ask: () => Promise<unknown>): Promise<boolean> =>
  ask().then(
    () => true,
    () => false,
  );

function childrenOf(pid: number): number[] {
  const listed = `/proc/${pid}/task/${pid}/children`;
  const text = existsSync(listed)
    ? readFileSync(listed, 'utf8')
    : execFileSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' });
  return text.split(/\s+/).filter(Boolean).map(Number);
}
