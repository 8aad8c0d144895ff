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

/** From `dist/tools/soak/`. */
const BIN = fileURLToPath(new URL('../../../../../packages/server/bin/leadtap.js', import.meta.url));
const BLOCK_PROBE = new URL('block-probe.js', import.meta.url).href;
const MAX_OUTPUT_BYTES = 1 << 30;

export interface SoakInstallation extends Installation {
  /** The sum over all instances. */
  metric(name: string): Promise<number>;
  /** The longest block of an event loop since the last call, by the processor time of its thread. */
  takeLongestBlockMs(): Promise<number>;
  doctor(): Promise<string>;
  /** Kills one instance with SIGKILL and starts it again on the same port. */
  crash(index: number): Promise<void>;
  spawnLeadtap(argv: readonly string[]): ChildProcessWithoutNullStreams;
}

export interface InstallOptions {
  readonly folder: string;
  readonly databaseUrl: string;
  /** One instance for each: the database, directly or through a pool. */
  readonly instanceUrls: readonly string[];
  readonly organisation: Organisation;
  /** For every process, such as what steps its clock. */
  readonly env: Readonly<Record<string, string>>;
}

/** Does what an operator does: the built program alone, a process for each instance. */
export async function install(options: InstallOptions, cleanUps: CleanUps): Promise<SoakInstallation> {
  const { folder: cwd, databaseUrl, instanceUrls, organisation } = options;
  const envFor = (url: string) => ({
    PATH: process.env['PATH'] ?? '',
    LEADTAP_DATABASE_URL: url,
    LEADTAP_METRICS_ADDRESS: '127.0.0.1:0',
    LEADTAP_PORT: '0',
    LEADTAP_LOG_LEVEL: 'info',
    LEADTAP_INTAKE: 'on',
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
    instanceUrls.map((url) => Instance.start({ cwd, env: envFor(url) }, cleanUps)),
  );
  return {
    urls: serving.map(({ url }) => url),
    token: async (userId) => tokens.get(userId) ?? '',
    metric: async (name) => {
      const values = await Promise.all(serving.map(({ metricsUrl }) => readMetric(metricsUrl, name)));
      return values.reduce((sum, value) => sum + value, 0);
    },
    takeLongestBlockMs: async () =>
      Math.max(...(await Promise.all(serving.map((instance) => instance.takeLongestBlockMs())))),
    doctor: async () => (await leadtap('doctor').catch((error: { stdout: string }) => error)).stdout,
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

  async takeLongestBlockMs(): Promise<number> {
    if (!this.#process) return 0;
    const answered = once(this.#process, 'message');
    this.#process.send('take');
    const [blockMs] = await answered;
    return Number(blockMs);
  }

  async #serve(env: NodeJS.ProcessEnv): Promise<void> {
    this.#process = spawn(process.execPath, ['--import', BLOCK_PROBE, BIN, 'serve'], {
      cwd: this.#options.cwd,
      env: { ...this.#options.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    const { url, metricsUrl } = await readAddress(this.#process);
    Object.assign(this, { url, metricsUrl });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const ending = this.#process;
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
    const closed = once(ending, 'close');
    ending.kill(signal);
    await closed;
  }
}

async function readAddress({ stdout }: ChildProcess): Promise<Serving> {
  if (!stdout) throw new Error('the service has no output');
  for await (const line of createInterface({ input: stdout })) {
    const entry: { msg: string } & Serving = JSON.parse(line);
    if (entry.msg !== 'serving new leads') continue;
    stdout.resume();
    return entry;
  }
  throw new Error('the service ended before it logged its address');
}

async function readMetric(url: string, name: string): Promise<number> {
  const text = await (await fetch(url)).text();
  return Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1] ?? 0);
}
