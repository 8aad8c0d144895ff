import type { Clock, Store } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { makeTestDatabase } from '../../../testing/harness/database.ts';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { type BeforeCommit, NaiveStore } from '../store/naive-store.ts';
import { type Ask, RemembersDate, RemembersIds, RemembersLastLead, toWholeSeconds } from './pollers.ts';
import { SteppedClock } from './stepped-clock.ts';

/** Makes of a store the one that the test is about. */
type Make = (store: Store, clock: Clock, beforeCommit?: BeforeCommit) => Store;

const write = (store: Store, id: string) => store.writeLeads([{ companyId: 'acme', id, fields: {} }]);

const asking =
  (store: Store): Ask =>
  async (question) => {
    const page = await store.readPage({ scope: { level: 'COMPANY', companyId: 'acme' }, ...question });
    return { leads: page.leads, date: toWholeSeconds(page.readAt) };
  };

/**
 * The interleaving that loses leads, forced: the slow writer has taken its time but has not committed; a second and
 * a half later everybody polls, a quick writer commits, and everybody polls; then the slow writer commits.
 */
async function lostBehindSlowWriter(make: Make): Promise<Record<string, string[]>> {
  const { openStore } = await makeTestDatabase();
  const clock = new SteppedClock();
  let meanwhile: Promise<void> | undefined;
  const open = async (beforeCommit?: BeforeCommit) =>
    make(await openStore({ clock: clock.read }), clock.read, beforeCommit);
  const slow = await open(async () => meanwhile);
  const quick = await open();
  const polled = await open();
  await slow.applyOrganisation(ORGANISATION);
  const ask = asking(polled);
  const pollers = {
    lastLead: new RemembersLastLead(ask, 10),
    date: new RemembersDate(ask, 10),
    ids: new RemembersIds(ask, 10),
  };
  const pollAll = () => Promise.all(Object.values(pollers).map((poller) => poller.poll()));

  clock.afterNextRead(() => {
    clock.now += 1500;
    meanwhile = (async () => {
      await pollAll();
      await write(quick, 'quick');
      await pollAll();
    })();
  });
  await write(slow, 'slow');
  await meanwhile;
  await pollAll();
  for (const store of [slow, quick, polled]) await store.close();
  return Object.fromEntries(
    Object.entries(pollers).map(([name, poller]) => [name, poller.lost(['slow', 'quick'])]),
  );
}

describe('a writer that is slow to commit', () => {
  it('loses nothing, whatever clients remember', async () => {
    const lost = await lostBehindSlowWriter((store) => store);
    expect(lost).toEqual({ lastLead: [], date: [], ids: [] });
  });

  it('would lose its lead in a store that stamps before the lock and reads without it', async () => {
    const lost = await lostBehindSlowWriter((...parts) => new NaiveStore(...parts));
    expect(lost).toEqual({ lastLead: ['slow'], date: ['slow'], ids: [] });
  });
});
