import type { LeadInput } from 'leadtap';
import { beforeAll, describe, expect, it } from 'vitest';
import { shareService } from '../../../testing/harness/shared-service.ts';

/** The place of a lead. Both companies have a branch `north` with a department `sales`. */
const PLACES = {
  company: { companyId: 'acme' },
  north: { companyId: 'acme', branchId: 'north' },
  'north/sales': { companyId: 'acme', branchId: 'north', departmentId: 'sales' },
  'north/service': { companyId: 'acme', branchId: 'north', departmentId: 'service' },
  'sales, branch not said': { companyId: 'acme', departmentId: 'sales' },
  south: { companyId: 'acme', branchId: 'south' },
  'south/south-sales': { companyId: 'acme', branchId: 'south', departmentId: 'south-sales' },
  'other company': { companyId: 'globex' },
  'other company: north': { companyId: 'globex', branchId: 'north' },
  'other company: north/sales': { companyId: 'globex', branchId: 'north', departmentId: 'sales' },
} as const satisfies Record<string, Partial<LeadInput>>;

type Place = keyof typeof PLACES;

const OTHER_COMPANY: readonly Place[] = [
  'other company',
  'other company: north',
  'other company: north/sales',
];
const ACME = (Object.keys(PLACES) as Place[]).filter((place) => !OTHER_COMPANY.includes(place));

const SEES: Record<string, readonly Place[]> = {
  boss: ACME,
  'north-lead': ['north', 'north/sales', 'north/service', 'sales, branch not said'],
  seller: ['north/sales', 'sales, branch not said'],
  rival: OTHER_COMPANY,
  'rival-north': ['other company: north', 'other company: north/sales'],
  'rival-seller': ['other company: north/sales'],
};

describe('visible leads', () => {
  const shared = shareService();
  beforeAll(async () => {
    for (const [id, place] of Object.entries(PLACES)) await shared().add({ id, ...place });
  });

  const cases = Object.keys(SEES).flatMap((userId) =>
    Object.keys(PLACES).map((place) => [userId, place] as const),
  );

  it.each(cases)('%s and a lead in %s', async (userId, place) => {
    const expected = (SEES[userId] ?? []).some((seen) => seen === place);
    for (const query of ['', 'since=1970-01-01']) {
      const ids = (await shared().leads(userId, query)).map(({ id }) => id);
      expect(ids.includes(place)).toBe(expected);
    }
  });

  it('the limit counts only visible leads', async () => {
    expect(await shared().leads('seller', 'limit=2')).toHaveLength(2);
    expect(await shared().leads('seller', 'limit=2&since=1970-01-01')).toHaveLength(2);
  });
});

describe('visible leads after a change', () => {
  const shared = shareService();
  const idsOf = async (userId: string) => (await shared().leads(userId)).map(({ id }) => id);

  it('a lead that was moved is visible at its new place', async () => {
    await shared().add({ id: 'moving', departmentId: 'sales' });
    expect(await idsOf('seller')).toContain('moving');
    await shared().add({ id: 'moving', branchId: 'south' });
    expect(await idsOf('seller')).not.toContain('moving');
    expect(await idsOf('north-lead')).not.toContain('moving');
    expect(await idsOf('boss')).toContain('moving');
  });

  it('a new access level applies from the next poll', async () => {
    await shared().add({ id: 'of-the-company' });
    expect(await idsOf('north-lead')).not.toContain('of-the-company');
    await shared().store.updateUser('north-lead', { accessLevel: 'COMPANY' });
    expect(await idsOf('north-lead')).toContain('of-the-company');
    await shared().store.updateUser('north-lead', { accessLevel: 'DEPARTMENT', departmentId: 'service' });
    expect(await idsOf('north-lead')).toEqual([]);
  });

  it('the same lead id in two companies is two leads', async () => {
    await shared().add({ id: 'twin', fields: { firstName: 'Ours' } });
    await shared().add({ id: 'twin', companyId: 'globex', fields: { firstName: 'Theirs' } });
    const [ours] = (await shared().leads('boss')).filter(({ id }) => id === 'twin');
    const [theirs] = (await shared().leads('rival')).filter(({ id }) => id === 'twin');
    expect([ours?.firstName, theirs?.firstName]).toEqual(['Ours', 'Theirs']);
    expect(ours?.automation_trigger_id).not.toBe(theirs?.automation_trigger_id);
  });
});
