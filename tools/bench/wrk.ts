import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findOnPath, findProgram } from '../../packages/testing/servers/find-program.ts';
import { processorTimes, spentMs } from './service.ts';

const WRK = { name: 'wrk', debian: 'wrk', homebrew: 'wrk', find: () => findOnPath('wrk') };
const SCRIPT = fileURLToPath(new URL('../../../wrk.lua', import.meta.url));

/** Whole HTTP requests in a file. Rounds continue where the last one ended, so that all users poll equally often. */
export interface Requests {
  readonly file: string;
  readonly count: number;
  position: number;
}

export function writeRequests(file: string, requests: readonly string[]): Requests {
  writeFileSync(file, requests.join('\0'), 'latin1');
  return { file, count: requests.length, position: 0 };
}

export interface Target {
  readonly port: number;
  readonly pid: number;
  /** Its database and Redis. */
  readonly serverPids?: readonly number[];
  emptyLog?(): void;
}

export interface Measured {
  readonly perSecond: number;
  /** Processor time per request, in microseconds: of the instance, and of its database and Redis. */
  readonly micros: number;
  readonly serverMicros: number;
}

export const CONNECTIONS = 64;

/** Each connection sends its next request when it has the response to the last one. Only 2xx is accepted. */
export async function load(
  { port, pid, serverPids = [], emptyLog }: Target,
  requests: Requests,
  seconds: number,
  connections = CONNECTIONS,
): Promise<Measured> {
  emptyLog?.();
  const sample = () => ({ own: processorTimes([pid]), servers: processorTimes(serverPids) });
  const url = `http://127.0.0.1:${port}/`;
  const argv = [
    '-t1',
    `-c${connections}`,
    `-d${seconds}s`,
    '--timeout=30s',
    '-s',
    SCRIPT,
    url,
    '--',
    requests.file,
  ];
  const before = sample();
  const { stdout } = await promisify(execFile)(findProgram(WRK), [...argv, String(requests.position)]);
  const after = sample();
  const report: { responses: number; seconds: number; rejected: number; failed: number } = JSON.parse(
    stdout.trim().split('\n').at(-1) ?? '',
  );
  requests.position = (requests.position + report.responses + connections) % requests.count;
  if (report.rejected + report.failed > 0)
    throw new Error(
      `port ${port}: ${report.responses} responses, ${report.rejected} of them errors, ${report.failed} failures`,
    );
  return {
    perSecond: report.responses / report.seconds,
    micros: (spentMs(before.own, after.own) * 1000) / report.responses,
    serverMicros: (spentMs(before.servers, after.servers) * 1000) / report.responses,
  };
}
