import type { Store } from 'leadtap';
import { expect, it } from 'vitest';
import { makeTestDatabase } from '../../../testing/harness/database.ts';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { type Ask, RemembersDate, RemembersIds, RemembersLastLead, toWholeSeconds } from './pollers.ts';
import { SteppedClock } from './stepped-clock.ts';

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
it('a writer that is slow to commit loses nothing, whatever clients remember', async () => {
  const { openStore } = await makeTestDatabase();
  const clock = new SteppedClock();
  let meanwhile: Promise<void> | undefined;
  const open = () => openStore({ clock: clock.read });
  const [slow, quick, polled] = [await open(), await open(), await open()];
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
  for (const [name, poller] of Object.entries(pollers))
    expect(poller.lost(['slow', 'quick']), name).toEqual([]);
});
