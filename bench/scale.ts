/**
 * What does a poll cost an instance, PostgreSQL and Redis? One instance over both, many users, as many polls at once as
 * keep it busy. Processor time, not only rates: the load runs on the same machine.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startPostgres } from '../test/servers/postgres.ts';
import { startRedis } from '../test/servers/redis.ts';
import { cpuTimeMs } from './cpu-time.ts';
import { type Home, leadtap, serve } from './leadtap.ts';
import { pollsPerSecond } from './load.ts';
import { leadChunks, organisation } from './made-up-leads.ts';

const SIZE = { leads: 20_000, companies: 100, usersPerCompany: 50 };
const POLLS = { empty: 12_000, full: 3000 };
const QUERIES = { empty: '?since=2999-01-01T00:00:00Z', full: '?limit=100' };
const AT_ONCE = 32;

const print = (line: string) => process.stdout.write(`${line}\n`);

async function prepare(home: Home): Promise<string[]> {
  await leadtap(home, ['org', 'apply', '-'], [JSON.stringify(organisation(SIZE))]);
  await leadtap(home, ['leads', 'import', '-'], leadChunks(SIZE.leads, SIZE.companies));
  const issued = await leadtap(home, ['token', 'issue', '--all-users', '--json']);
  return (JSON.parse(issued.stdout) as { token: string }[]).map(({ token }) => token);
}

const folder = await mkdtemp(join(tmpdir(), 'leadtap-bench-'));
const postgres = await startPostgres({ settings: { shared_buffers: '128MB' } });
const redis = await startRedis();
try {
  const settings = { LEADTAP_DATABASE_URL: postgres.url, LEADTAP_REDIS_URL: redis.url };
  const tokens = await prepare({ folder, settings });
  const service = await serve({ folder, settings });
  const parts = { instance: service.pid, postgres: postgres.pid ?? 0, redis: redis.pid ?? 0 };
  const results: Record<string, unknown> = {};
  try {
    for (const kind of ['empty', 'full'] as const) {
      const url = `${service.url}/automation/new-leads${QUERIES[kind]}`;
      await pollsPerSecond(url, tokens, POLLS[kind] / 10, AT_ONCE);
      const before = Object.values(parts).map(cpuTimeMs);
      const rate = await pollsPerSecond(url, tokens, POLLS[kind], AT_ONCE);
      const micros = Object.entries(parts).map(([name, pid], i) => {
        const spent = cpuTimeMs(pid) - (before[i] ?? 0);
        return [name, Math.round((spent * 1000) / POLLS[kind])] as const;
      });
      results[kind] = { pollsPerSecond: Math.round(rate), cpuMicrosPerPoll: Object.fromEntries(micros) };
      print(
        `${kind.padEnd(6)} ${Math.round(rate)} polls/s; processor time a poll: ${micros.map(([name, us]) => `${name} ${us} µs`).join(', ')}`,
      );
    }
  } finally {
    await service.stop();
  }
  const target = fileURLToPath(new URL('../../results/', import.meta.url));
  await mkdir(target, { recursive: true });
  await writeFile(join(target, 'scale.json'), `${JSON.stringify(results, undefined, 2)}\n`);
} finally {
  await redis.remove();
  await postgres.remove();
  await rm(folder, { recursive: true, force: true });
}
