import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import type { ReportSources } from '../../src/connections/report.ts';
import { InstanceMemory } from '../../src/status/instance.ts';
import { createStatusReader, type StatusSources, spaceReads } from '../../src/status/read-status.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

const never = () => new Promise<never>(() => undefined);
const status = async () => ({ engine: 'Test 1', latestStamp: 0, now: Date.UTC(2026, 2, 2, 9, 30) });
/** What is not asked is missing. */
const partOf = <T>(part: Partial<T>): T => part as T;

function start(store: Partial<StatusSources['store']>) {
  const clock = manualClock();
  const errors: string[] = [];
  const connections = partOf<ReportSources['connections']>({ listDeadTimes: never });
  const readStatus = createStatusReader({
    ...{ version: '0.0.0', databaseAddress: 'test', hookHosts: [], instance: new InstanceMemory(clock) },
    reports: partOf<ReportSources>({ connections, clock }),
    store: {
      ...{ status, readSize: async () => 0 },
      organisation: partOf<StatusSources['store']['organisation']>({ readCompanyNames: async () => [] }),
      ...store,
    },
    log: { error: (_details, message) => void errors.push(message) },
  });
  return { readStatus, errors };
}

it('a database that does not answer is unreachable after 3 seconds', async () => {
  const { readStatus, errors } = start({ status: vi.fn(never) });
  const [first, second] = [readStatus(), readStatus()];
  await vi.advanceTimersByTimeAsync(3000);
  const report = await first;
  expect(report.database).toMatchObject({ reachable: false, engine: null });
  expect(report.problems.map(({ kind }) => kind)).toEqual(['database-unreachable']);
  expect(await second).toBe(report);
  expect(errors).toEqual(['the state of the database could not be read for the status page']);
});

it('connections that take too long are missing, and the rest is there', async () => {
  const { readStatus, errors } = start({});
  const reading = readStatus();
  await vi.advanceTimersByTimeAsync(3000);
  const report = await reading;
  expect(report).toMatchObject({ connections: null, level: 'error', database: { engine: 'Test 1' } });
  expect(report.problems.map(({ kind }) => kind)).toEqual(['connections-unknown', 'no-company']);
  expect(errors).toEqual(['the connections could not be read for the status page']);
});

it('after a slow read, the next one is made only after ten times as long', async () => {
  const read = vi.fn(async () => {
    vi.advanceTimersByTime(300);
    return {};
  });
  const readSpaced = spaceReads(read, 250);
  const first = await readSpaced();
  vi.advanceTimersByTime(2999);
  expect(await readSpaced()).toBe(first);
  expect(read).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(1);
  expect(await readSpaced()).not.toBe(first);
});

it('while a read hangs, the result before is returned', async () => {
  const read = vi.fn<() => Promise<object>>(never).mockResolvedValueOnce({});
  const readSpaced = spaceReads(read, 250);
  const first = await readSpaced();
  void readSpaced();
  expect(await readSpaced()).toBe(first);
  expect(read).toHaveBeenCalledTimes(2);
});
