// @both-stores for each change
import { describe, expect, it } from 'vitest';
import { acknowledgementOf, sendForm, sendLeads } from '../../../testing/harness/intake.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService } from '../../../testing/harness/service.ts';

const withKey = (key: string, userId = 'boss', tokenId = `token-of-${userId}`) => ({
  ...{ userId, tokenId },
  headers: { 'idempotency-key': key },
});

describe('Idempotency-Key', () => {
  it('a repeated request adds nothing and gets the same ids', async () => {
    const test = await startService();
    const leads = [{ firstName: 'Ada' }, { id: 'own', firstName: 'Grace' }, { firstName: 'Mary' }];
    const first = await sendLeads(test, leads, withKey('key-1'));
    const again = await sendLeads(test, leads, withKey('key-1'));
    expect([first.status, again.status]).toEqual([201, 201]);
    const [added, repeated] = [await acknowledgementOf(first), await acknowledgementOf(again)];
    expect(repeated).toEqual(added);
    expect(added.leads[1]?.id).toBe('own');
    expect(await test.leads('boss')).toHaveLength(3);
  });

  it('the id depends on token, key and index alone, and never changes', async () => {
    const test = await startService();
    const { leads } = await acknowledgementOf(
      await sendLeads(test, [{ firstName: 'Ada' }, { firstName: 'Bo' }], withKey('key-1')),
    );
    expect(leads.map(({ id }) => id)).toEqual([
      '20052838-a2b1-8928-a70a-a6e0c05fae60',
      '94c2f2e7-5b14-830f-8daa-99aacb5998e9',
    ]);
    const other = await acknowledgementOf(await sendLeads(test, { firstName: 'Ada' }, withKey('key-2')));
    const rival = await acknowledgementOf(
      await sendLeads(test, { firstName: 'Ada' }, withKey('key-1', 'rival')),
    );
    const ids = [...leads, ...other.leads, ...rival.leads].map(({ id }) => id);
    expect(new Set(ids).size).toBe(4);
  });

  it('belongs to its token: two forms of a company that number their submissions lose nothing', async () => {
    const test = await startService();
    for (const [user, token, firstName] of [
      ['boss', 'form-1', 'Ada'],
      ['boss', 'form-2', 'Bo'],
      ['seller', 'form-3', 'Cleo'],
    ] as const)
      for (const _attempt of [1, 2])
        expect((await sendLeads(test, { firstName }, withKey('1', user, token))).status).toBe(201);
    expect(await test.leads('boss')).toHaveLength(3);
  });

  it.each(['x', '~ printable !', 'k'.repeat(255)])('%s is a key', async (key) => {
    const test = await startService();
    const statuses = [];
    for (let i = 0; i < 2; i += 1)
      statuses.push((await sendLeads(test, { firstName: 'Ada' }, withKey(key))).status);
    expect(statuses).toEqual([201, 201]);
  });

  it('requests with the same key at the same time add one lead', async () => {
    const test = await startService();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => sendLeads(test, { firstName: 'Ada' }, withKey('same'))),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(201));
    expect(await test.leads('boss')).toHaveLength(1);
  });
});

describe('a key that comes again', () => {
  const ADA = [{ firstName: 'Ada' }, { id: 'own', firstName: 'Grace' }];

  it('with another body is 422 and changes nothing', async () => {
    const test = await startService();
    await sendLeads(test, ADA, withKey('key'));
    const before = await test.leads('boss');
    const others = [
      () => sendLeads(test, [{ firstName: 'Eve' }], withKey('key')),
      () => sendLeads(test, [...ADA].reverse(), withKey('key')),
      () => sendLeads(test, { id: 'own', email: 'eve@example.com' }, withKey('key')),
      () => sendForm(test, 'firstName=Eve', withKey('key')),
    ];
    for (const send of others) {
      const { detail } = await expectProblem(await send(), 'idempotency-key-reused');
      expect(detail).toMatch(/Nothing was stored or changed/);
    }
    expect(await test.leads('boss')).toEqual(before);
  });

  it('with the same body after the access level has changed is 422: the leads would be placed elsewhere', async () => {
    const test = await startService();
    const own = [{ id: 'own', firstName: 'Ada' }];
    expect((await sendLeads(test, own, withKey('key'))).status).toBe(201);
    await test.store.updateUser('boss', { accessLevel: 'BRANCH', branchId: 'north' });
    await expectProblem(await sendLeads(test, own, withKey('key')), 'idempotency-key-reused');
  });

  it('with the same body writes nothing, also after the leads were changed, erased or deleted', async () => {
    const test = await startService();
    const first = await acknowledgementOf(await sendLeads(test, ADA, withKey('key')));
    const [derived] = first.leads;
    await sendLeads(test, { id: derived?.id, firstName: 'Augusta', phone1: '1' });
    const changed = await test.leads('boss');
    expect(await acknowledgementOf(await sendLeads(test, ADA, withKey('key')))).toEqual(first);
    expect(await test.leads('boss')).toEqual(changed);
    const found = await test.store.removal.findByIds([derived?.id ?? '', 'own'], 'acme');
    await test.store.removal.erase(found ?? []);
    expect(await acknowledgementOf(await sendLeads(test, ADA, withKey('key')))).toEqual(first);
    expect(await test.leads('boss')).toEqual([]);
  });

  it('and whose derived id is that of a lead outside the access level is 422, and the message says so', async () => {
    const first = await startService();
    const sent = await sendLeads(first, { firstName: 'Ada' }, withKey('key', 'seller'));
    const [derived] = (await acknowledgementOf(sent)).leads;
    const test = await startService();
    await test.store.writeLeads([{ companyId: 'acme', id: derived?.id ?? '', fields: { firstName: 'Ada' } }]);
    const answer = await sendLeads(test, { firstName: 'Ada' }, withKey('key', 'seller'));
    const { errors } = await expectProblem(answer, 'invalid-lead');
    expect(errors).toEqual([
      { index: 0, field: null, detail: expect.stringMatching(/sent with this Idempotency-Key/) },
    ]);
  });

  it('two bodies at the same time: one is stored, the other is refused', async () => {
    const test = await startService();
    const send = (firstName: string) => sendLeads(test, { firstName }, withKey('key'));
    const answers = await Promise.all(['Ada', 'Bo', 'Cleo'].map(send));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422]);
    expect(await test.leads('boss')).toHaveLength(1);
  });

  it('a key of a rejected request can be used again', async () => {
    const test = await startService();
    expect((await sendLeads(test, { email: 'ada', id: 'a' }, withKey('key'))).status).toBe(422);
    expect((await sendLeads(test, { branchId: 'west', firstName: 'Ada' }, withKey('key'))).status).toBe(422);
    expect((await sendLeads(test, { firstName: 'Ada' }, withKey('key'))).status).toBe(201);
  });
});

describe('without a key', () => {
  it('a lead with an id is added once, a lead without one each time', async () => {
    const test = await startService();
    for (let i = 0; i < 2; i += 1)
      await sendLeads(test, [{ id: 'a', firstName: 'Ada' }, { firstName: 'Ada' }]);
    expect(await test.leads('boss')).toHaveLength(3);
  });
});
