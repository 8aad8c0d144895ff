import { type ChildProcess, type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Organisation } from 'leadtap';
import type { Installation } from '../../packages/testing/delivery-trial/pollers/http-caller.ts';
import type { CleanUps } from './clean-ups.ts';
import type { Resources } from './instance-probe.ts';

/** From `dist/tools/soak/`. */
const BIN = fileURLToPath(new URL('../../../../../packages/server/bin/leadtap.js', import.meta.url));
const PROBE = new URL('instance-probe.js', import.meta.url).href;
const MAX_OUTPUT_BYTES = 1 << 30;

export interface SoakInstallation extends Installation {
  /** Of each instance, after a garbage collection. */
  readResources(): Promise<Resources[]>;
  /** Of the instances themselves, where `urls` are those of proxies. */
  readonly directUrls: readonly string[];
  /** Of the private listeners. */
  readonly privateUrls: readonly string[];
  /** Kills one instance with SIGKILL and starts it again on the same port. */
  crash(index: number): Promise<void>;
  spawnLeadtap(argv: readonly string[]): ChildProcessWithoutNullStreams;
}

/** As far as trials read it. */
export interface LogLine {
  readonly level: string;
  readonly msg: string;
  /** Of a request. */
  readonly method?: string;
  readonly status?: number;
  readonly err?: { readonly type?: string; readonly message?: string };
}

export interface InstallOptions {
  readonly folder: string;
  readonly databaseUrl: string;
  /** One instance for each: the database, directly or through a pool or a proxy. */
  readonly instanceUrls: readonly string[];
  /** For each instance, if they share limits. */
  readonly redisUrls?: readonly string[];
  /** Called with each line of an instance's log, and of its standard error as the message of an error. */
  readonly onLogLine?: ((instance: number, line: LogLine) => void) | undefined;
  readonly organisation: Organisation;
  /** For every process, such as what steps its clock. */
  readonly env: Readonly<Record<string, string>>;
}

/** Does what an operator does: the built program alone, a process for each instance. */
export async function install(options: InstallOptions, cleanUps: CleanUps): Promise<SoakInstallation> {
  const { folder: cwd, databaseUrl, instanceUrls, organisation } = options;
  const envFor = (url: string, redisUrl?: string) => ({
    PATH: process.env['PATH'] ?? '',
    LEADTAP_DATABASE_URL: url,
    ...(redisUrl !== undefined && { LEADTAP_REDIS_URL: redisUrl }),
    LEADTAP_METRICS_ADDRESS: '127.0.0.1:0',
    LEADTAP_PORT: '0',
    LEADTAP_LOG_LEVEL: 'info',
    ...options.env,
  });
  const env = envFor(databaseUrl);
  const leadtap = (...argv: readonly string[]) =>
    promisify(execFile)(process.execPath, [BIN, ...argv], { cwd, env, maxBuffer: MAX_OUTPUT_BYTES });

  await writeFile(join(cwd, 'organisation.json'), JSON.stringify(organisation));
  await leadtap('org', 'apply', 'organisation.json');
  const scopes = ['--scope', 'leads:read', '--scope', 'leads:write'];
  const issued = await leadtap('token', 'issue', '--all-users', ...scopes, '--json');
  const list: { userId: string; token: string }[] = JSON.parse(issued.stdout);
  const tokens = new Map(list.map(({ userId, token }) => [userId, token]));
  const serving = await Promise.all(
    instanceUrls.map((url, index) => {
      const env = envFor(url, options.redisUrls?.[index]);
      const onLogLine = options.onLogLine && ((line: LogLine) => options.onLogLine?.(index, line));
      return Instance.start({ cwd, env, onLogLine }, cleanUps);
    }),
  );
  return {
    urls: serving.map(({ url }) => url),
    token: async (userId) => tokens.get(userId) ?? '',
    readResources: () => Promise.all(serving.map((instance) => instance.readResources())),
    directUrls: serving.map(({ url }) => url),
    privateUrls: serving.map(({ metricsUrl }) => new URL(metricsUrl).origin),
    crash: async (index) => serving[index]?.crash(),
    spawnLeadtap: (argv) => spawn(process.execPath, [BIN, ...argv], { cwd, env }),
  };
}

interface Serving {
  readonly url: string;
  readonly metricsUrl: string;
}

interface ServeOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly onLogLine: ((line: LogLine) => void) | undefined;
}

/** A process that serves. A crash replaces it by another one with the same addresses. */
class Instance implements Serving {
  url = '';
  metricsUrl = '';
  readonly #options: ServeOptions;
  #process: ChildProcess | undefined;

  private constructor(options: ServeOptions) {
    this.#options = options;
  }

  static async start(options: ServeOptions, cleanUps: CleanUps): Promise<Instance> {
    const instance = new Instance(options);
    // Without the drain time of SIGTERM.
    cleanUps.add(() => instance.#end('SIGINT'));
    await instance.#serve({});
    return instance;
  }

  async crash(): Promise<void> {
    await this.#end('SIGKILL');
    await this.#serve({
      LEADTAP_PORT: new URL(this.url).port,
      LEADTAP_METRICS_ADDRESS: new URL(this.metricsUrl).host,
    });
  }

  async readResources(): Promise<Resources> {
    if (!this.#process || this.#process.exitCode !== null) throw new Error('an instance has ended');
    const answered = once(this.#process, 'message');
    this.#process.send('resources');
    const [answer] = await answered;
    return answer;
  }

  async #serve(env: NodeJS.ProcessEnv): Promise<void> {
    this.#process = spawn(process.execPath, ['--import', PROBE, BIN, 'serve'], {
      cwd: this.#options.cwd,
      env: { ...this.#options.env, ...env },
      stdio: ['ignore', 'pipe', this.#options.onLogLine ? 'pipe' : 'inherit', 'ipc'],
    });
    const { url, metricsUrl } = await this.#readLog(this.#process);
    Object.assign(this, { url, metricsUrl });
  }

  /** Resolves with the addresses as soon as it serves. */
  #readLog(serving: ChildProcess): Promise<Serving> {
    const { onLogLine } = this.#options;
    const { stdout, stderr } = serving;
    return new Promise((resolve, reject) => {
      if (!stdout) throw new Error('the service has no output');
      const errors: string[] = [];
      const lines = createInterface({ input: stdout });
      lines.on('line', (text) => {
        const line: LogLine & Serving = JSON.parse(text);
        onLogLine?.(line);
        if (line.msg !== 'serving new leads') return;
        resolve(line);
        if (onLogLine) return;
        lines.close();
        stdout.resume();
      });
      serving.on('close', () =>
        reject(new Error(['the service ended before it logged its address', ...errors].join('\n'))),
      );
      if (stderr && onLogLine)
        createInterface({ input: stderr }).on('line', (msg) => {
          errors.push(msg);
          onLogLine({ level: 'error', msg });
        });
    });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const ending = this.#process;
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
    const closed = once(ending, 'close');
    ending.kill(signal);
    await closed;
  }
}
