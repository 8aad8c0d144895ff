import type { Store } from 'leadtap';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isRevoked } from '../../../store-conformance/src/sample.ts';
import { makeTestDatabase } from '../../../testing/harness/database.ts';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { startService } from '../../../testing/harness/service.ts';

const ACME = { level: 'COMPANY', companyId: 'acme' } as const;

const poll = (store: Store) => store.readPage({ scope: ACME, since: 0, limit: 100 });
const write = (store: Store, id: string) => store.writeLeads([{ companyId: 'acme', id, fields: {} }]);

/** A store with one lead, and a writer of another program that holds the lock. */
async function openBesideWriter() {
  const database = await makeTestDatabase();
  // So long that a poll is not answered before the lock is released, however long that takes.
  const store = await database.openStore({ timeouts: { pollLockWaitMs: 240_000 } });
  onTestFinished(() => store.close());
  await store.applyOrganisation(ORGANISATION);
  await write(store, 'committed');
  return { store, letGo: await database.holdLock('acme') };
}

describe('while a writer is stuck with the lock', () => {
  it('the service answers polls after a second from what is committed, and counts them', async () => {
    const { database, add, poll, metricsUrl } = await startService();
    const [stamp = 0] = await add({ id: 'committed' });
    await database.holdLock('acme');
    const response = await poll('boss');
    expect(response.status).toBe(200);
    expect(response.headers.get('date')).toBe(new Date(stamp).toUTCString());
    expect(await response.json()).toMatchObject([{ id: 'committed' }]);
    expect(await (await fetch(metricsUrl)).text()).toMatch(/^leadtap_polls_unlocked_total 1$/m);
  });

  it('users and tokens are found', async () => {
    const { store } = await openBesideWriter();
    expect(await store.findUser('boss')).toMatchObject({ id: 'boss' });
    expect(await isRevoked(store, 'token')).toBe(false);
    await store.ping();
  });
});

describe('when the lock is let go', () => {
  it('a poll that waits for it reads under it', async () => {
    const { store, letGo } = await openBesideWriter();
    const waiting = poll(store);
    await letGo();
    expect(await waiting).toMatchObject({ locked: true, leads: [{ id: 'committed' }] });
  });

  it('a write that waits for it is written', async () => {
    const { store, letGo } = await openBesideWriter();
    const waiting = write(store, 'patient');
    await letGo();
    expect(await waiting).toMatchObject({ results: [{ kind: 'added', id: 'patient' }] });
  });
});
