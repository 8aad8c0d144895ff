import { join } from 'node:path';
import { type Clock, openSqliteStore, type Store } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { ORGANISATION } from '../harness/organisation.ts';
import { tempFolder } from '../harness/temp-folder.ts';
import { type BeforeCommit, NaiveStore } from '../store/naive-store.ts';
import { type Ask, RemembersDate, RemembersIds, RemembersLastLead, toWholeSeconds } from './pollers.ts';
import { SteppedClock } from './stepped-clock.ts';

type Open = (file: string, clock: Clock, beforeCommit?: BeforeCommit) => Promise<Store>;

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
async function lostBehindSlowWriter(open: Open): Promise<Record<string, string[]>> {
  const file = join(tempFolder(), 'leadtap.db');
  const clock = new SteppedClock();
  let meanwhile: Promise<void> | undefined;
  const slow = await open(file, clock.read, async () => meanwhile);
  const quick = await open(file, clock.read);
  const polled = await open(file, clock.read);
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
    const lost = await lostBehindSlowWriter((file, clock) => openSqliteStore({ file, clock }));
    expect(lost).toEqual({ lastLead: [], date: [], ids: [] });
  });

  it('would lose its lead in a store that stamps before the lock and reads without it', async () => {
    const lost = await lostBehindSlowWriter(NaiveStore.open);
    expect(lost).toEqual({ lastLead: ['slow'], date: ['slow'], ids: [] });
  });
});
