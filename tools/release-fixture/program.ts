/** A built checkout of Leadtap, run as an operator runs it: by its command, its environment and HTTP. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

/** The tests verify the tokens of the fixture with it. It protects nothing. */
const SIGNING_KEY = 'the-key-of-release-fixtures-protects-nothing';

export interface Answer {
  readonly status: number;
  readonly body: string;
  /** The path of `Link`, since the address of the service is another one in each test. */
  readonly next: string | undefined;
}

export interface RequestOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export class Program {
  readonly #bin: string;
  readonly #cwd: string;
  readonly #env: Readonly<Record<string, string>>;
  #serving: ChildProcess | undefined;
  #url = '';

  constructor(checkout: string, cwd: string, databaseUrl: string) {
    this.#bin = join(checkout, 'packages/server/bin/leadtap.js');
    this.#cwd = cwd;
    this.#env = {
      PATH: process.env['PATH'] ?? '',
      LEADTAP_DATABASE_URL: databaseUrl,
      LEADTAP_SIGNING_KEY: SIGNING_KEY,
      LEADTAP_METRICS_ADDRESS: 'off',
      LEADTAP_INTAKE: 'on',
    };
  }

  async run(...argv: readonly string[]): Promise<string> {
    const options = { cwd: this.#cwd, env: this.#env };
    const { stdout } = await promisify(execFile)(process.execPath, [this.#bin, ...argv], options);
    return stdout;
  }

  /** Serves while `work` runs. The settings are those that older versions do not know. */
  async serve(work: () => Promise<void>, settings: Readonly<Record<string, string>> = {}): Promise<void> {
    const serving = spawn(process.execPath, [this.#bin, 'serve', '--port', '0'], {
      cwd: this.#cwd,
      env: { ...this.#env, ...settings },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#serving = serving;
    try {
      for await (const line of createInterface({ input: serving.stdout })) {
        const entry: { msg: string; url: string } = JSON.parse(line);
        if (entry.msg !== 'serving new leads') continue;
        this.#url = entry.url;
        serving.stdout.resume();
        break;
      }
      await work();
    } finally {
      await this.stop();
    }
  }

  /** The service writes the positions of its consumers before it exits. */
  async stop(): Promise<void> {
    const serving = this.#serving;
    if (!serving || serving.exitCode !== null || serving.signalCode !== null) return;
    const exited = once(serving, 'exit');
    serving.kill('SIGINT');
    await exited;
  }

  async request(path: string, token: string, options: RequestOptions = {}): Promise<Answer> {
    const headers = { authorization: `Bearer ${token}`, ...options.headers };
    const response = await fetch(`${this.#url}${path}`, { ...options, headers });
    const link = /^<(.+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1];
    const next = link === undefined ? undefined : new URL(link).pathname + new URL(link).search;
    return { status: response.status, body: await response.text(), next };
  }
}
