import fc from 'fast-check';
import { StoreUnavailableError } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { beforeQuestion } from '../../../packages/testing/harness/before-question.ts';
import { manualClock } from '../../../packages/testing/harness/manual-clock.ts';
import { startService, type TestService } from '../../../packages/testing/harness/service.ts';
import { addLeads } from './burst.ts';
import { type Connection, connect } from './connection.ts';
import { ZapierPoller } from './zapier-poller.ts';

const MINUTE_MS = 60_000;

async function startZap() {
  const clock = manualClock();
  const test = await startService({ clock });
  const connection = await connect(test);
  return { ...test, test, clock, connection, zap: new ZapierPoller() };
}

const idsOf = ({ runs }: ZapierPoller) => runs.map(({ id }) => id).sort();

interface Round {
  readonly minutes: number;
  readonly arriving: number;
  readonly updated: number;
  readonly fails: boolean;
}

/** What happens from one poll to the next. */
const round: fc.Arbitrary<Round> = fc.record({
  minutes: fc.integer({ min: 1, max: 15 }),
  arriving: fc.integer({ min: 0, max: 260 }),
  updated: fc.integer({ min: 0, max: 3 }),
  fails: fc.boolean(),
});

describe('a Zap, polled as Zapier polls,', () => {
  it('runs for no lead from before it was turned on', async () => {
    const { test, connection, zap } = await startZap();
    await addLeads(test, 250, 'before');
    await zap.turnOn(connection);
    expect(await zap.poll(connection)).toBe(0);
    await addLeads(test, 3, 'after');
    expect(await zap.poll(connection)).toBe(3);
    expect(idsOf(zap)).toEqual(['after-0', 'after-1', 'after-2']);
  });

  it('runs once for each of 5,000 leads that arrive between two polls', async () => {
    const { test, connection, zap, clock } = await startZap();
    await zap.turnOn(connection);
    clock.advance(7 * MINUTE_MS);
    const ids = await addLeads(test, 5000, 'burst');
    clock.advance(8 * MINUTE_MS);
    // The newest page alone would lose 4,900 of them.
    expect(await test.leads('boss')).toHaveLength(100);
    expect(await zap.poll(connection)).toBe(5000);
    clock.advance(MINUTE_MS);
    expect(await zap.poll(connection)).toBe(0);
    expect(idsOf(zap)).toEqual(ids.sort());
  });

  it('goes by the trigger id: it runs for a lead of another company that has the id of one it has seen', async () => {
    const { test, connection, zap } = await startZap();
    await zap.turnOn(connection);
    await test.add({ id: 'lead-1' });
    await zap.poll(connection);
    await test.add({ companyId: 'globex', id: 'lead-1' });
    await zap.poll(await connect(test, 'rival'));
    expect(zap.runs.map(({ id, companyName }) => [id, companyName])).toEqual([
      ['lead-1', 'Acme'],
      ['lead-1', 'Globex'],
    ]);
  });

  it('runs once for each lead in any history of bursts, updates and failing polls', async () => {
    await fc.assert(fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: 8 }), runsOnceForEach), {
      numRuns: 8,
    });
  });
});

async function runsOnceForEach(rounds: readonly Round[]): Promise<void> {
  const { test, connection, zap, clock } = await startZap();
  await addLeads(test, 130, 'before');
  await zap.turnOn(connection);
  const arrived: string[] = [];
  for (const [n, { minutes, arriving, updated, fails }] of rounds.entries()) {
    arrived.push(...(await addLeads(test, arriving, `round-${n}`)));
    const changed = arrived.slice(arrived.length - updated);
    if (changed.length > 0) await test.add(...changed.map((id) => ({ id, fields: { firstName: `${n}` } })));
    clock.advance(minutes * MINUTE_MS);
    // After two failures in a row more than half an hour may have gone by.
    if (fails && !rounds[n - 1]?.fails) await failingPoll(test, zap, connection);
    else await zap.poll(connection);
  }
  await zap.poll(connection);
  expect(idsOf(zap)).toEqual(arrived.sort());
}

async function failingPoll({ store }: TestService, zap: ZapierPoller, connection: Connection): Promise<void> {
  const recover = beforeQuestion(store, 'readLeads', () => Promise.reject(new StoreUnavailableError('away')));
  await zap.poll(connection).catch(() => undefined);
  recover();
}
