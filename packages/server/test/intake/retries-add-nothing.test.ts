import { describe, expect, it } from 'vitest';
import { acknowledgementOf, sendForm, sendLeads, startIntake } from '../../../testing/harness/intake.ts';

const withKey = (key: string, userId = 'boss') => ({ userId, headers: { 'idempotency-key': key } });

describe('Idempotency-Key', () => {
  it('a repeated request adds nothing and gets the same ids', async () => {
    const test = await startIntake();
    const leads = [{ firstName: 'Ada' }, { id: 'own', firstName: 'Grace' }, { firstName: 'Mary' }];
    const first = await sendLeads(test, leads, withKey('key-1'));
    const again = await sendLeads(test, leads, withKey('key-1'));
    expect([first.status, again.status]).toEqual([201, 200]);
    const [added, updated] = [await acknowledgementOf(first), await acknowledgementOf(again)];
    expect(updated.leads).toEqual(added.leads.map((lead) => ({ ...lead, result: 'updated' })));
    expect(added.leads[1]?.id).toBe('own');
    expect(await test.leads('boss')).toHaveLength(3);
  });

  it('the id depends on company, key and index alone, and never changes', async () => {
    const test = await startIntake();
    const { leads } = await acknowledgementOf(
      await sendLeads(test, [{ firstName: 'Ada' }, { firstName: 'Bo' }], withKey('key-1')),
    );
    expect(leads.map(({ id }) => id)).toEqual([
      '88d0a558-e813-8b8c-81b6-b21e59d81a5b',
      'ea934621-0e46-8e79-8b77-526067e5dbf1',
    ]);
    const one = await acknowledgementOf(await sendForm(test, 'firstName=Ada', withKey('key-1')));
    expect(one.leads).toMatchObject([{ id: leads[0]?.id, result: 'updated' }]);
    const other = await acknowledgementOf(await sendLeads(test, { firstName: 'Ada' }, withKey('key-2')));
    const rival = await acknowledgementOf(
      await sendLeads(test, { firstName: 'Ada' }, withKey('key-1', 'rival')),
    );
    const ids = [...leads, ...other.leads, ...rival.leads].map(({ id }) => id);
    expect(new Set(ids).size).toBe(4);
  });

  it.each(['x', '~ printable !', 'k'.repeat(255)])('%s is a key', async (key) => {
    const test = await startIntake();
    const statuses = [];
    for (let i = 0; i < 2; i += 1)
      statuses.push((await sendLeads(test, { firstName: 'Ada' }, withKey(key))).status);
    expect(statuses).toEqual([201, 200]);
  });

  it('requests with the same key at the same time add one lead', async () => {
    const test = await startIntake();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => sendLeads(test, { firstName: 'Ada' }, withKey('same'))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 200, 200, 201]);
    expect(await test.leads('boss')).toHaveLength(1);
  });
});

describe('without a key', () => {
  it('a lead with an id is added once, a lead without one each time', async () => {
    const test = await startIntake();
    for (let i = 0; i < 2; i += 1)
      await sendLeads(test, [{ id: 'a', firstName: 'Ada' }, { firstName: 'Ada' }]);
    expect(await test.leads('boss')).toHaveLength(3);
  });
});
