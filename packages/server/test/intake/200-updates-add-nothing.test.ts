import { describe, expect, it } from 'vitest';
import { acknowledgementOf, sendLeads } from '../../../testing/harness/intake.ts';
import { startService } from '../../../testing/harness/service.ts';

describe('200: only updates', () => {
  it('keeps createdAt and the trigger id, and the fields that were left out', async () => {
    const test = await startService();
    const email = 'ada@example.com';
    await sendLeads(test, { id: 'a', firstName: 'Ada', lastName: 'Byron', phone1: '1', email });
    const [before] = await test.leads('boss');
    const answer = await sendLeads(test, { id: 'a', lastName: 'Lovelace', phone1: null, email });
    expect(answer.status).toBe(200);
    expect(await acknowledgementOf(answer)).toEqual({
      leads: [{ id: 'a', createdAt: before?.createdAt, result: 'updated' }],
    });
    const after = await test.leads('boss');
    expect(after).toEqual([
      {
        ...before,
        lastName: 'Lovelace',
        fullName: 'Ada Lovelace',
        phone1: null,
        updatedAt: after[0]?.updatedAt,
      },
    ]);
  });

  it('does not deliver the lead again', async () => {
    const test = await startService();
    await sendLeads(test, { id: 'a', firstName: 'Ada' });
    const [{ createdAt } = { createdAt: '' }] = await test.leads('boss');
    await sendLeads(test, [{ id: 'a', firstName: 'Ada' }]);
    expect(await test.leads('boss', `since=${createdAt}`)).toEqual([]);
  });

  it('is another lead in another company', async () => {
    const test = await startService();
    await sendLeads(test, { id: 'a', firstName: 'Ada' });
    expect((await sendLeads(test, { id: 'a', firstName: 'Eve' }, { userId: 'rival' })).status).toBe(201);
    expect((await test.leads('boss')).map(({ firstName }) => firstName)).toEqual(['Ada']);
    expect((await test.leads('rival')).map(({ firstName }) => firstName)).toEqual(['Eve']);
  });
});
