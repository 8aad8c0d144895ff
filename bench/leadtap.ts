import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';

const BIN = fileURLToPath(new URL('../../../packages/server/bin/leadtap.js', import.meta.url));

/** Where the program is at home: its folder, and what it is told beside. */
export interface Home {
  readonly folder: string;
  readonly settings: Readonly<Record<string, string>>;
}

export const sqliteIn = (folder: string): Home => ({
  folder,
  settings: { LEADTAP_DATABASE_URL: `sqlite:${join(folder, 'leadtap.db')}` },
});

function run({ folder, settings }: Home, args: readonly string[]): ChildProcess {
  const env = {
    ...process.env,
    LEADTAP_SIGNING_KEY_FILE: join(folder, 'signing.key'),
    LEADTAP_METRICS_ADDRESS: 'off',
    ...settings,
  };
  return spawn(process.execPath, [BIN, ...args], { env, stdio: ['pipe', 'pipe', 'inherit'] });
}

/** The most memory the process ever had, as Linux remembers it; undefined elsewhere. */
function peakRssMb(pid: number): number | undefined {
  try {
    const kilobytes = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
  } catch {
    return undefined;
  }
}

export interface CommandResult {
  readonly stdout: string;
  readonly seconds: number;
  /** Undefined where the system does not tell. */
  readonly peakRssMb: number | undefined;
}

/** Runs a command of the real program to its end. */
export async function leadtap(
  home: Home,
  args: readonly string[],
  input: Iterable<string> = [],
): Promise<CommandResult> {
  const startedAt = performance.now();
  const child = run(home, args);
  let peak: number | undefined;
  const watch = setInterval(() => {
    // Linux keeps the highest so far, so the last one that could be read is the peak.
    peak = peakRssMb(child.pid ?? 0) ?? peak;
  }, 100);
  const chunks: string[] = [];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => chunks.push(text));
  const ended = once(child, 'close');
  if (child.stdin) await pipeline(Readable.from(input), child.stdin);
  const [code] = await ended;
  clearInterval(watch);
  if (code !== 0) throw new Error(`leadtap ${args.join(' ')} ended with ${code}`);
  return { stdout: chunks.join(''), seconds: (performance.now() - startedAt) / 1000, peakRssMb: peak };
}

export interface RunningService {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

export async function serve(home: Home): Promise<RunningService> {
  const child = run(home, ['serve', '--port', '0']);
  const ended = once(child, 'close');
  if (!child.stdout) throw new Error('no output to read the address from');
  const lines = createInterface({ input: child.stdout });
  // All lines are read to the end, so that the pipe never fills.
  const url = await new Promise<string>((resolve, reject) => {
    lines.on('line', (line) => {
      const { msg, url }: { msg: string; url: string } = JSON.parse(line);
      if (msg === 'serving new leads') resolve(url);
    });
    ended.then(() => reject(new Error('leadtap serve ended before it served')));
  });
  return {
    url,
    pid: child.pid ?? 0,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
