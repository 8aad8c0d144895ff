import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Guard } from '../../../packages/testing/servers/guard.ts';
import { type Home, run } from './leadtap.ts';

export interface RunningService {
  readonly port: number;
  readonly pid: number;
  /** When the process was started, and when it said that it serves. */
  readonly startedAt: number;
  readonly servingAt: number;
  /** A line for each request: in an hour of load that is gigabytes. */
  emptyLog(): void;
  stop(): Promise<void>;
}

const START_LIMIT_MS = 60_000;

/** An instance whose log goes to a file, as an operator would have it. */
export async function serve(home: Home, port = 0): Promise<RunningService> {
  const folder = mkdtempSync(join(tmpdir(), 'leadtap-instance-'));
  const guard = new Guard(folder, 'SIGTERM');
  const log = join(folder, 'log');
  const output = openSync(log, 'a');
  const startedAt = Date.now();
  const child = run(home, ['serve', '--port', String(port)], output);
  closeSync(output);
  writeFileSync(join(folder, 'server.pid'), String(child.pid));
  const ended = once(child, 'exit');
  const stop = async () => {
    // Without the drain time of SIGTERM.
    child.kill('SIGINT');
    if (child.exitCode === null && child.signalCode === null) await ended;
    await guard.release();
  };
  for (;;) {
    const serving = readServing(log);
    if (serving) {
      const emptyLog = () => truncateSync(log);
      return { ...serving, pid: child.pid ?? 0, startedAt, emptyLog, stop };
    }
    if (child.exitCode !== null || Date.now() > startedAt + START_LIMIT_MS) {
      await stop();
      throw new Error('leadtap serve does not serve');
    }
    await wait(5);
  }
}

/** The port and time of the log line "serving new leads", once it is there. */
function readServing(log: string): { port: number; servingAt: number } | undefined {
  for (const line of readFileSync(log, 'utf8').split('\n').slice(0, -1)) {
    const { msg, url, time }: { msg: string; url: string; time: string } = JSON.parse(line);
    if (msg === 'serving new leads') return { port: Number(new URL(url).port), servingAt: Date.parse(time) };
  }
  return undefined;
}
