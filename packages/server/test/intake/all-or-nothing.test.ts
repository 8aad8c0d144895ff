import type { Lead } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { sendLeads } from '../../../testing/harness/intake.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService } from '../../../testing/harness/service.ts';

describe('all or nothing', () => {
  it.each([
    ['a field', { email: 'wrong' }],
    ['a place', { branchId: 'west' }],
    ['a status', { statusValue: 'UNKNOWN' }],
  ])('one lead with an error in %s: no lead is added, none is updated', async (_what, wrong) => {
    const test = await startService();
    await sendLeads(test, { id: 'old', firstName: 'Ada' });
    const before = await test.leads('boss');
    const answer = await sendLeads(test, [
      { id: 'new', firstName: 'Ada' },
      { id: 'old', firstName: 'Eve' },
      { id: 'wrong', ...wrong },
    ]);
    expect(answer.status).toBe(422);
    expect(await test.leads('boss')).toEqual(before);
  });

  it('a lead that violates a constraint of the operator: 422 names the lead and the constraint, others are added', async () => {
    const test = await startService();
    await sendLeads(test, { id: 'old', firstName: 'Ada', email: 'ada@example.com' });
    await test.database.addCheck('no_test_mail', "email <> 'x@test.com'");
    const before = await test.leads('boss');
    const error = (index: number) => ({
      index,
      field: null,
      detail: expect.stringContaining('"no_test_mail"'),
    });
    const wrong = { email: 'x@test.com' };
    const good = Array.from({ length: 30 }, (_, n) => ({ firstName: `${n}` }));
    const [answers] = await Promise.all([
      Promise.all(
        [wrong, [...good, wrong, ...good], { id: 'old', firstName: 'Ada', ...wrong }].map(async (leads) =>
          expectProblem(await sendLeads(test, leads), 'invalid-lead'),
        ),
      ),
      ...good.map(async (lead) => expect((await sendLeads(test, lead)).status).toBe(201)),
    ]);
    expect(answers.map(({ errors }) => errors)).toEqual([[error(0)], [error(30)], [error(0)]]);
    expect(await test.leads('boss', 'limit=100')).toHaveLength(good.length + before.length);
    expect((await test.leads('boss', 'limit=100')).at(-1)).toEqual(before[0]);
  });

  it('a rejected request uses no stamp: the next lead follows the last one', async () => {
    const test = await startService();
    await sendLeads(test, [
      { id: 'a', firstName: 'Ada' },
      { id: 'b', branchId: 'west' },
    ]);
    expect((await sendLeads(test, { id: 'c', firstName: 'Ada' })).status).toBe(201);
    expect((await test.leads('boss', 'since=1970-01-01')).map(({ id }) => id)).toEqual(['c']);
  });

  it('polls see all leads of a request at once, or none of them', async () => {
    const test = await startService({
      limits: { userPolicies: [{ name: 'minute', quota: 100_000, windowS: 60 }] },
    });
    const SIZE = 6;
    const seen = new Map<string, number>();
    let since = '1970-01-01T00:00:00.000Z';
    const poll = async (): Promise<void> => {
      for (const { customFields, createdAt } of (await test.leads('boss', `since=${since}`)) as Lead[]) {
        const request = String(customFields['request']);
        seen.set(request, (seen.get(request) ?? 0) + 1);
        since = createdAt;
      }
      expect([...seen.values()].filter((count) => count !== SIZE)).toEqual([]);
    };
    const send = async (sender: number): Promise<void> => {
      for (let n = 0; n < 6; n += 1) {
        const isValid = n % 3 !== 2;
        const request = `${isValid ? 'valid' : 'invalid'} ${sender}.${n}`;
        const leads = Array.from({ length: SIZE }, () => ({ customFields: { request } }));
        // The last lead has an unknown branch, which only the transaction finds.
        const last = isValid ? [] : [{ customFields: { request }, branchId: 'west' }];
        expect((await sendLeads(test, [...leads, ...last])).status).toBe(isValid ? 201 : 422);
      }
    };
    let isSending = true;
    const senders = Promise.all([1, 2, 3].map(send)).finally(() => {
      isSending = false;
    });
    while (isSending) await poll();
    await senders;
    await poll();
    expect(seen.size).toBe(12);
    expect([...seen.keys()].filter((request) => request.startsWith('invalid'))).toEqual([]);
  });
});
