import type { LeadInput, Store } from 'leadtap';
import { expect, it, onTestFinished } from 'vitest';
import { makeTestDatabase } from '../../../testing/harness/database.ts';

async function openStore(): Promise<Store> {
  const store = await (await makeTestDatabase()).openStore();
  onTestFinished(() => store.close());
  await store.applyOrganisation({ companies: [{ id: 'acme', name: 'Acme', branches: [], users: [] }] });
  return store;
}

const LEADS = 1000;
const SCOPE = { level: 'COMPANY', companyId: 'acme' } as const;

/** Leads that call `onEncode` when their custom fields are encoded. */
const leadsWith = (onEncode: (index: number) => void): LeadInput[] =>
  Array.from({ length: LEADS }, (_, index) => {
    const toJSON = () => {
      onEncode(index);
      return { index };
    };
    return { companyId: 'acme', id: `lead-${index}`, fields: { customFields: { toJSON } } };
  });

const storedLeads = async (store: Store) => {
  const { leads } = await store.readPage({ scope: SCOPE, limit: LEADS });
  return leads.map(({ id, customFields }) => ({ id, customFields }));
};

it.each(['writeAllLeads', 'writeLeads'] as const)(
  '%s: other requests are answered while 1,000 leads are encoded',
  async (method) => {
    const store = await openStore();
    let turn = 0;
    let isDone = false;
    const countTurn = () => {
      turn += 1;
      if (!isDone) setImmediate(countTurn);
    };
    setImmediate(countTurn);
    const leadsInTurn = new Map<number, number>();
    const leads = leadsWith(() => leadsInTurn.set(turn, (leadsInTurn.get(turn) ?? 0) + 1));
    const { kind } = await (method === 'writeLeads'
      ? store.writeLeads(leads)
      : store.writeAllLeads(leads, SCOPE));
    isDone = true;
    expect(kind).toBe('written');
    expect(Math.max(...leadsInTurn.values())).toBeLessThanOrEqual(25);
    expect(await storedLeads(store)).toEqual(
      leads.map(({ id }, index) => ({ id, customFields: { index } })).reverse(),
    );
  },
);

it('nothing is written if the last lead cannot be encoded', async () => {
  const store = await openStore();
  const leads = leadsWith((index) => {
    if (index === LEADS - 1) throw new RangeError('too deep');
  });
  await expect(store.writeAllLeads(leads, SCOPE)).rejects.toThrow();
  expect(await storedLeads(store)).toEqual([]);
});
