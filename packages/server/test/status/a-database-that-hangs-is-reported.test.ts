import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { ConsumersReader } from '../../src/status/consumers.ts';
import { InstanceMemory } from '../../src/status/instance.ts';
import { createStatusReader, type StatusSources } from '../../src/status/read-status.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

const never = () => new Promise<never>(() => undefined);
const status = async () => ({ engine: 'Test 1', latestStamp: 0, now: Date.UTC(2026, 2, 2, 9, 30) });

const HOOKS: Pick<StatusSources, 'hooks' | 'hookHosts'> = {
  hooks: {
    ...{ now: never, subscribe: never, remove: never, list: async () => [], find: never, rename: never },
    ...{ claim: never, settle: never, prune: never, hasHooks: never },
    ...{ readLead: never, takePending: never },
    countByState: async () => ({ active: 0, failing: 0, disabled: 0 }),
  },
  hookHosts: [],
};
const CONSUMERS = {
  ...{
    record: never,
    findPending: never,
    findMissed: never,
    ...{ listEnded: async () => [], findReceivers: never, findReceivedHistory: never },
    forget: never,
    prune: never,
    recordDowntime: never,
    recordStop: never,
    recordPause: never,
    listDowntimes: async () => [],
  },
  list: async () => [],
};
const STORE: StatusSources['store'] = {
  ...{ status, consumers: CONSUMERS, findToken: never },
  senders: { record: never, list: async () => [], clearUnkept: never, prune: never },
  refusedLeads: {
    ...{
      record: never,
      isEmpty: never,
      removeAccepted: never,
      prune: never,
      list: never,
      find: never,
      remove: never,
    },
    summarize: async () => [],
  },
  ...{ countLeadsByMinute: never, readSize: async () => 0, countLeadsInRanges: never, findUser: never },
  organisation: { readCompanies: never, readCompany: never, readCompanyNames: never, readUsers: never },
};

function start(store: Partial<StatusSources['store']>) {
  const clock = manualClock();
  const errors: string[] = [];
  const readStatus = createStatusReader({
    ...{ clock, version: '0.0.0', databaseAddress: 'test', invocation: 'leadtap' },
    store: { ...STORE, ...store },
    ...{ isRecording: true, hasIntake: true, ...HOOKS },
    instance: new InstanceMemory(clock),
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

it('consumers that take too long are missing, and the rest is there', async () => {
  const { readStatus, errors } = start({ consumers: { ...CONSUMERS, list: never } });
  const reading = readStatus();
  // The rest is read in turns of the event loop.
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  await vi.advanceTimersByTimeAsync(3000);
  const report = await reading;
  expect(report).toMatchObject({ consumers: null, database: { reachable: true, engine: 'Test 1' } });
  expect(report.problems.map(({ kind }) => kind)).toEqual(['consumers-unknown']);
  expect(errors).toEqual(['the consumers could not be read for the status page']);
});

it('after a slow read of the consumers, the next one is made only after ten times as long', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const list = vi.fn(async ({ areRevoked = false }: { areRevoked?: boolean }) => {
    if (!areRevoked) vi.advanceTimersByTime(300);
    return [];
  });
  const countReads = () => list.mock.calls.filter(([{ areRevoked }]) => !areRevoked).length;
  const reader = new ConsumersReader({
    sources: { ...HOOKS, consumers: { ...CONSUMERS, list } },
    ...{ clock: manualClock(), slowReadMs: 250 },
  });
  const first = await reader.read();
  vi.advanceTimersByTime(2999);
  expect(await reader.read()).toBe(first);
  expect(countReads()).toBe(1);
  vi.advanceTimersByTime(1);
  await reader.read();
  expect(countReads()).toBe(2);
});
