import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { Guard } from '../../packages/testing/servers/guard.ts';

/** A built checkout of the repository: this one, or the one to compare with. */
export interface Checkout {
  readonly name: string;
  readonly program: string;
  /** The options of Node.js with which its `npm start` runs the service. */
  readonly nodeOptions: readonly string[];
}

export function openCheckout(name: string, folder: string): Checkout {
  const program = resolve(folder, 'packages/server/bin/leadtap.js');
  if (!existsSync(resolve(folder, 'packages/server/dist')))
    throw new Error(`${folder} has no built program. Run: cd ${folder} && npm ci && npm run build`);
  const { scripts }: { scripts: { start: string } } = JSON.parse(
    readFileSync(resolve(folder, 'package.json'), 'utf8'),
  );
  return { name, program, nodeOptions: scripts.start.match(/--max-[\w-]+=\d+/g) ?? [] };
}

/** A folder for the database and the signing key, and the settings of the program. All other settings have their default. */
export interface Home {
  readonly checkout: Checkout;
  readonly folder: string;
  readonly settings: Readonly<Record<string, string>>;
}

export const sqliteUrl = (folder: string): string => `sqlite:${join(folder, 'leadtap.db')}`;

function start(home: Home, args: readonly string[], output: 'pipe' | number): ChildProcess {
  const { checkout, folder, settings } = home;
  mkdirSync(folder, { recursive: true });
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('LEADTAP_'));
  const env = {
    ...Object.fromEntries(inherited),
    LEADTAP_DATABASE_URL: sqliteUrl(folder),
    LEADTAP_SIGNING_KEY_FILE: join(folder, 'signing.key'),
    LEADTAP_METRICS_ADDRESS: '127.0.0.1:0',
    ...settings,
  };
  const nodeOptions = args[0] === 'serve' ? checkout.nodeOptions : [];
  return spawn(process.execPath, [...nodeOptions, checkout.program, ...args], {
    cwd: folder,
    env,
    stdio: ['pipe', output, output],
  });
}

/** Runs a command of the program, and returns its output. */
export async function leadtap(
  home: Home,
  args: readonly string[],
  input: Iterable<string> = [],
): Promise<string> {
  const child = start(home, args, 'pipe');
  const [output, errors]: [string[], string[]] = [[], []];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => output.push(text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => errors.push(text));
  const ended = once(child, 'close');
  if (child.stdin) await pipeline(Readable.from(input), child.stdin);
  const [code] = await ended;
  if (code !== 0) throw new Error(`leadtap ${args.join(' ')} ended with ${code}: ${errors.join('')}`);
  return output.join('');
}

export interface Instance {
  readonly port: number;
  readonly pid: number;
  readonly metricsUrl: string;
  /** From the start of the process to the log line that it serves. */
  readonly startMs: number;
  /** The log has a line per request: gigabytes in a run. */
  emptyLog(): void;
  stop(): Promise<void>;
}

const MAX_START_MS = 60_000;
const SERVING = /"url":"([^"]+)"[^\n]*"metricsUrl":"([^"]+)"[^\n]*"msg":"serving new leads"/;

/** `leadtap serve` on a free port, with its log in a file. */
export async function serve(home: Home): Promise<Instance> {
  const folder = mkdtempSync(join(tmpdir(), 'leadtap-instance-'));
  // Ends the instance and removes the folder, however the bench ends.
  const guard = new Guard(folder, 'SIGINT');
  const log = join(folder, 'log');
  const output = openSync(log, 'a');
  const startedAt = performance.now();
  const child = start(home, ['serve', '--port', '0'], output);
  closeSync(output);
  writeFileSync(join(folder, 'server.pid'), String(child.pid));
  const stop = () => guard.release();
  for (;;) {
    const [, url, metricsUrl = ''] = SERVING.exec(readFileSync(log, 'utf8')) ?? [];
    const startMs = performance.now() - startedAt;
    const emptyLog = () => truncateSync(log);
    if (url)
      return { port: Number(new URL(url).port), pid: child.pid ?? 0, metricsUrl, startMs, emptyLog, stop };
    if (child.exitCode !== null || startMs > MAX_START_MS) {
      const text = readFileSync(log, 'utf8');
      await stop();
      throw new Error(`leadtap serve does not serve: ${text}`);
    }
    await wait(5);
  }
}

/** Nanoseconds of processor time (user and system), by thread, of some processes and their children. */
export type ProcessorTimes = ReadonlyMap<string, number>;

export function processorTimes(pids: readonly number[], times = new Map<string, number>()): ProcessorTimes {
  for (const tasks of pids.map((pid) => `/proc/${pid}/task`))
    for (const task of unlessEnded(() => readdirSync(tasks))) {
      // `stat` counts in steps of 10 ms.
      const [nanoseconds = 0] = numbersIn(`${tasks}/${task}/schedstat`);
      times.set(task, nanoseconds);
      processorTimes(numbersIn(`${tasks}/${task}/children`), times);
    }
  return times;
}

/** Without threads that have ended meanwhile. */
export const spentMs = (before: ProcessorTimes, after: ProcessorTimes): number =>
  [...after].reduce((sum, [task, time]) => sum + time - (before.get(task) ?? 0), 0) / 1e6;

const numbersIn = (file: string): number[] =>
  unlessEnded(() => readFileSync(file, 'utf8').split(/\s+/).filter(Boolean).map(Number));

/** A process or a thread may end between the listing and the read. */
function unlessEnded<T>(read: () => T[]): T[] {
  try {
    return read();
  } catch {
    return [];
  }
}

/** Resident memory in MB: now (`VmRSS`), or the highest since the start (`VmHWM`). */
export const memoryMb = (pid: number, field: 'VmRSS' | 'VmHWM'): number => {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024;
};
