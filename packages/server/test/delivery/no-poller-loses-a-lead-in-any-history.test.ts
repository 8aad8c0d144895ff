import fc from 'fast-check';
import { describe, inject, it } from 'vitest';
import { makeTestDatabase, type TestDatabase } from '../../../testing/harness/database.ts';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { propertyRuns } from '../../../testing/vitest/nightly.ts';
import { commands, compare, type Real } from './commands.ts';
import { ModelStore } from './model-store.ts';
import { RemembersDate, RemembersIds, RemembersLastLead, toWholeSeconds } from './pollers.ts';
import { SteppedClock } from './stepped-clock.ts';

/** A page edge every few leads. */
const PAGE = 4;
/** A database that asks the test for the time takes longer for each history. */
const HISTORIES = { sqlite: 15, postgres: 6 };

async function begin({ openStore }: TestDatabase): Promise<{ model: ModelStore; real: Real }> {
  const clock = new SteppedClock();
  const open = () => openStore({ clock: clock.read });
  const stores = [await open(), await open()] as const;
  await stores[0].applyOrganisation(ORGANISATION);
  const ask = async (question: { since?: number; limit: number }) => {
    const page = await stores[1].readPage({ scope: { level: 'COMPANY', companyId: 'acme' }, ...question });
    return { leads: page.leads, date: toWholeSeconds(page.readAt) };
  };
  const pollers = {
    lastLead: new RemembersLastLead(ask, PAGE),
    date: new RemembersDate(ask, PAGE),
    ids: new RemembersIds(ask, 10_000),
  };
  return { model: new ModelStore(clock), real: { stores, clock, pollers } };
}

describe('whatever is written and whenever they poll', () => {
  it('no client loses a lead, and clients that store the last createdAt get each lead once', async () => {
    await fc.assert(
      fc.asyncProperty(commands, async (sequence) => {
        const { model, real } = await begin(await makeTestDatabase());
        try {
          await fc.asyncModelRun(() => ({ model, real }), sequence);
          await compare(model, real);
        } finally {
          for (const store of real.stores) await store.close();
        }
      }),
      { numRuns: propertyRuns(HISTORIES[inject('store')]) },
    );
  });
});
