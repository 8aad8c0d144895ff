import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Installation } from '../packages/server/test/delivery/trial/callers.ts';
import { organisationOf, type Seat } from '../packages/server/test/delivery/trial/seats.ts';
import type { CleanUps } from './clean-ups.ts';
import type { Servers } from './servers.ts';

/** From `dist/soak/`. */
const BIN = fileURLToPath(new URL('../../../packages/server/bin/leadtap.js', import.meta.url));
const MOST_OUTPUT = 1 << 30;

export interface SoakInstallation extends Installation {
  /** The sum over all instances. */
  metric(name: string): Promise<number>;
  doctor(): Promise<string>;
}

/** Does what an operator does: the built program alone, a process for each instance. */
export async function install(
  { databaseUrl, redisUrl }: Servers,
  seats: readonly Seat[],
  instances: number,
  cleanUps: CleanUps,
): Promise<SoakInstallation> {
  const cwd = await mkdtemp(join(tmpdir(), 'leadtap-soak-'));
  cleanUps.add(() => rm(cwd, { recursive: true, force: true }));
  const env = {
    PATH: process.env['PATH'] ?? '',
    LEADTAP_DATABASE_URL: databaseUrl,
    LEADTAP_REDIS_URL: redisUrl,
    LEADTAP_METRICS_ADDRESS: '127.0.0.1:0',
    LEADTAP_PORT: '0',
    LEADTAP_LOG_LEVEL: 'info',
  };
  const leadtap = (...argv: readonly string[]) =>
    promisify(execFile)(process.execPath, [BIN, ...argv], { cwd, env, maxBuffer: MOST_OUTPUT });

  await writeFile(join(cwd, 'organisation.json'), JSON.stringify(organisationOf(seats)));
  await leadtap('org', 'apply', 'organisation.json');
  const issued = await leadtap('token', 'issue', '--all-users', '--json');
  const list: { userId: string; token: string }[] = JSON.parse(issued.stdout);
  const tokens = new Map(list.map(({ userId, token }) => [userId, token]));
  const serving = await Promise.all(Array.from({ length: instances }, () => serve({ cwd, env }, cleanUps)));
  return {
    urls: serving.map(({ url }) => url),
    token: async (userId) => tokens.get(userId) ?? '',
    metric: async (name) => {
      const values = await Promise.all(serving.map(({ metricsUrl }) => readMetric(metricsUrl, name)));
      return values.reduce((sum, value) => sum + value, 0);
    },
    doctor: async () => (await leadtap('doctor').catch((error: { stdout: string }) => error)).stdout,
  };
}

interface Serving {
  readonly url: string;
  readonly metricsUrl: string;
}

async function serve(options: { cwd: string; env: NodeJS.ProcessEnv }, cleanUps: CleanUps): Promise<Serving> {
  const service = spawn(process.execPath, [BIN, 'serve'], {
    ...options,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(service, 'close');
  cleanUps.add(async () => {
    service.kill();
    await closed;
  });
  return firstWords(service);
}

async function firstWords({ stdout }: ChildProcess): Promise<Serving> {
  if (!stdout) throw new Error('the service has no output');
  for await (const line of createInterface({ input: stdout })) {
    const said: { msg: string } & Serving = JSON.parse(line);
    if (said.msg !== 'serving new leads') continue;
    stdout.resume();
    return said;
  }
  throw new Error('the service ended before it said where it is');
}

async function readMetric(url: string, name: string): Promise<number> {
  const text = await (await fetch(url)).text();
  return Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1] ?? 0);
}
