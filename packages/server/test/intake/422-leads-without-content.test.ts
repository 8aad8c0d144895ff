import { describe, expect, it } from 'vitest';
import { sendForm, sendLeads } from '../../../testing/harness/intake.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService } from '../../../testing/harness/service.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';

const service = shareService();

const NO_CONTENT = /^has no content; give at least a name, /;

describe('a lead that a person would call empty is refused, and nothing is stored', () => {
  it.each([
    [{}],
    [{ sameDay: true, statusValue: 'NEW', branchId: 'north' }],
    [{ firstName: '', email: null, customFields: {}, images: [] }],
    [{ customFields: { source: '', tags: [null, { a: '' }] } }],
    [{ 'customFields.source': '' }],
    [{ firstName: '\u200b', fullName: '\ufeff\u00ad\u3164', addressNotes: '\u2800 \u2060' }],
  ])('JSON %j', async (lead) => {
    const { errors } = await expectProblem(
      await sendLeads(service(), [{ firstName: 'Ada' }, lead]),
      'invalid-lead',
    );
    expect(errors).toEqual([{ index: 1, field: null, detail: expect.stringMatching(NO_CONTENT) }]);
    expect(await service().leads('boss')).toEqual([]);
  });

  it.each(['', 'firstName=', 'id=a&sameDay=on', 'customFields.source=', 'firstName=+'])(
    'form %j',
    async (form) => {
      const { errors } = await expectProblem(await sendForm(service(), form), 'invalid-lead');
      expect(errors).toEqual([{ index: 0, field: null, detail: expect.stringMatching(NO_CONTENT) }]);
      expect(await service().leads('boss')).toEqual([]);
    },
  );

  it('also with an Idempotency-Key, which gives it an id', async () => {
    const headers = { 'idempotency-key': 'empty' };
    await expectProblem(await sendLeads(service(), {}, { headers }), 'invalid-lead');
    expect(await service().leads('boss')).toEqual([]);
  });
});

it.each([
  { fullName: 'Ada' },
  { appointmentDateTime: '2026-03-05T14:00:00Z' },
  { images: ['https://example.com/a.jpg'] },
  { customFields: { newsletter: false } },
])('%j alone is content', async (lead) => {
  expect((await sendLeads(service(), lead, { userId: 'rival' })).status).toBe(201);
});

it('a lead that exists is updated by its status or place alone', async () => {
  const test = await startService();
  await sendLeads(test, { id: 'a', firstName: 'Ada' });
  const answer = await sendLeads(test, { id: 'a', statusValue: 'WON', branchId: 'north', email: '' });
  expect(answer.status).toBe(200);
  expect((await test.leads('boss'))[0]).toMatchObject({
    firstName: 'Ada',
    statusValue: 'WON',
    branchName: 'North',
  });
});

it('the names of empty form fields are checked like the others', async () => {
  const form = 'firstName=Ada&frstName=&createdAt=&customFields[a]=&customFields.=&email=';
  const { errors } = await expectProblem(await sendForm(service(), form), 'invalid-lead');
  const fields = errors?.map((error) => 'field' in error && error.field);
  expect(fields).toEqual(['customFields.', 'frstName', 'createdAt', 'customFields[a]']);
});
