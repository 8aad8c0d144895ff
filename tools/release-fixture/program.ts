/** A built checkout of Leadtap, run as an operator runs it: by its command, its environment and HTTP. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

/** The tests verify the tokens of the fixture with it. It protects nothing. */
const SIGNING_KEY = 'the-key-of-release-fixtures-protects-nothing';

/** The service never reaches it. */
export const HOOK_HOST = 'http://127.0.0.1:9';

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
      LEADTAP_HOOK_HOSTS: HOOK_HOST,
    };
  }

  async run(...argv: readonly string[]): Promise<string> {
    const options = { cwd: this.#cwd, env: this.#env };
    const { stdout } = await promisify(execFile)(process.execPath, [this.#bin, ...argv], options);
    return stdout;
  }

  /** Serves while `work` runs. */
  async serve<T>(work: () => Promise<T>): Promise<T> {
    const serving = spawn(process.execPath, [this.#bin, 'serve', '--port', '0'], {
      cwd: this.#cwd,
      env: this.#env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      for await (const line of createInterface({ input: serving.stdout })) {
        const entry: { msg: string; url: string } = JSON.parse(line);
        if (entry.msg !== 'serving new leads') continue;
        this.#url = entry.url;
        serving.stdout.resume();
        break;
      }
      return await work();
    } finally {
      // It writes the positions of its consumers before it exits.
      const exited = once(serving, 'exit');
      serving.kill('SIGINT');
      await exited;
    }
  }

  async request(path: string, token: string, options: RequestOptions = {}): Promise<Answer> {
    const headers = { authorization: `Bearer ${token}`, ...options.headers };
    const response = await fetch(`${this.#url}${path}`, { ...options, headers });
    const link = /^<(.+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1];
    const next = link === undefined ? undefined : new URL(link).pathname + new URL(link).search;
    return { status: response.status, body: await response.text(), next };
  }
}
