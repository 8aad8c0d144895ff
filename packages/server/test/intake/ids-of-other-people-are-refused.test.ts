// @both-stores for each change
import type { LeadError } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { sendLeads } from '../../../testing/harness/intake.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService } from '../../../testing/harness/service.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';
import { terminal } from '../cli/terminal.ts';

type Fields = Readonly<Record<string, unknown>>;

const ADA = { firstName: 'Ada', lastName: 'Moreau', email: 'ada@example.com', phone1: '+33 6 12' };
const NOTE = { addressNotes: 'Call me' };

const SAME_PERSON: readonly (readonly [what: string, stored: Fields, sent: Fields])[] = [
  ['another e-mail address', ADA, { ...ADA, email: 'ada@work.example' }],
  [
    'the e-mail address alone is the same',
    ADA,
    { fullName: 'A. Smith', email: 'ADA@example.com', phone1: '0' },
  ],
  ['a phone number in another form is the same', ADA, { fullName: 'A. Smith', phone2: '0033612' }],
  ['the first name alone, which is the same', ADA, { firstName: 'Ada' }],
  ['the full name, which is the same', ADA, { fullName: 'ada  MOREAU', email: 'ada@work.example' }],
  [
    'first and last name, stored as a full name',
    { fullName: 'Ada Moreau' },
    { firstName: 'Ada', lastName: 'Moreau' },
  ],
  ['nothing of a person', ADA, { statusValue: 'WON' }],
  ['what was not known before', NOTE, ADA],
  ['nothing that both have', { email: 'ada@example.com' }, { firstName: 'Ben', phone1: '0700' }],
];

const OTHER_PERSON: readonly (readonly [what: string, stored: Fields, sent: Fields])[] = [
  ['another name, and both have no more', { ...NOTE, firstName: 'Ada' }, { ...NOTE, firstName: 'Ben' }],
  ['another last name', { firstName: 'Ada', lastName: 'Moreau' }, { lastName: 'Smith' }],
  ['another full name', ADA, { fullName: 'Ben Smith' }],
  ['another e-mail address, without a name', ADA, { email: 'ben@example.com' }],
  ['another phone number, without a name', ADA, { phone1: '0700' }],
  ['all of it', ADA, { firstName: 'Ben', email: 'ben@example.com', phone1: '0700' }],
];

describe('an update over HTTP', () => {
  const service = shareService();

  it.each(SAME_PERSON)('of the same person is accepted: %s', async (what, stored, sent) => {
    expect((await sendLeads(service(), { id: what, ...stored })).status).toBe(201);
    expect((await sendLeads(service(), { id: what, ...sent })).status).toBe(200);
  });

  it.each(OTHER_PERSON)('of another person is refused and held: %s', async (what, stored, sent) => {
    const id = `other: ${what}`;
    expect((await sendLeads(service(), { id, ...stored })).status).toBe(201);
    const [before] = await service().store.findLeads(id);
    const answer = await sendLeads(service(), [{ firstName: `new: ${what}` }, { id, ...sent }]);
    const { errors } = await expectProblem(answer, 'id-of-another-person');
    expect(errors).toEqual([{ index: 1, field: 'id', detail: expect.stringContaining('of another person') }]);
    expect(await service().store.findLeads(id)).toEqual([before]);
    const names = (await service().store.listLeads({ limit: 1000 })).map(({ lead }) => lead.firstName);
    expect(names).not.toContain(`new: ${what}`);
    const held = await service().store.refusedLeads.list({ limit: 1000 });
    expect(held.at(-1)).toMatchObject({ code: 'id-of-another-person', times: 1 });
  });

  it('with other errors is named beside them', async () => {
    await sendLeads(service(), { id: 'form-8', ...ADA });
    const sent = [{ id: 'form-8', firstName: 'Ben' }, { mail: 'eve@example.com' }];
    const { errors = [] } = await expectProblem(await sendLeads(service(), sent), 'invalid-lead');
    expect(errors.map((error) => (error as LeadError).field)).toEqual(['id', 'mail']);
  });

  it('of several people at the same time stores one of them', async () => {
    const people = ['Ada', 'Ben', 'Cy', 'Dora', 'Eve', 'Finn'];
    const answers = await Promise.all(
      people.map((firstName) => sendLeads(service(), { id: 'at once', firstName })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422, 422, 422, 422]);
  });

  it('is no import: that one may change anything', async () => {
    await sendLeads(service(), { id: 'imported', ...ADA });
    const { results } = await service().store.writeLeads([
      { companyId: 'acme', id: 'imported', fields: { firstName: 'Ben', email: null, phone1: null } },
    ]);
    expect(results).toMatchObject([{ kind: 'updated' }]);
  });
});

it('leads refused accept adds a lead of another person under a new id, once', async () => {
  const test = await startService();
  const run = (command: string) => terminal().run(command, { env: test.database.env });
  await sendLeads(test, { id: 'form-8', firstName: 'Ada' });
  const sent = [
    { id: 'form-8', firstName: 'Ben' },
    { id: 'form-9', firstName: 'Cy' },
  ];
  expect((await sendLeads(test, sent)).status).toBe(422);
  const [held] = await test.store.refusedLeads.list({ limit: 9 });
  const row = await test.store.refusedLeads.find(held?.id ?? '');
  const dry = await run('leads refused accept --all --dry-run');
  const done = await run('leads refused accept --all');
  const stored = await test.store.listLeads({ limit: 9 });
  const ids = new Map(stored.map(({ lead }) => [lead.firstName, lead.id]));
  expect([...ids]).toEqual([
    ['Cy', 'form-9'],
    ['Ben', expect.not.stringContaining('form')],
    ['Ada', 'form-8'],
  ]);
  const says = `${held?.id}: the id of lead 0 is that of another person, so its new id is ${ids.get('Ben')}\n`;
  expect(done).toMatchObject({ code: 0, stdout: '1 request accepted: 2 leads\n', stderr: says });
  expect(dry.stderr).toBe(says);
  expect(await test.store.refusedLeads.list({ limit: 9 })).toEqual([]);
  // A crash after the write left the row.
  if (row) await test.store.refusedLeads.record([row]);
  expect((await run('leads refused accept --all')).stdout).toBe('1 request accepted: 0 leads\n');
  expect(await test.store.listLeads({ limit: 9 })).toEqual(stored);
});

it('leads refused accept --json says which leads have a new id', async () => {
  const test = await startService();
  await sendLeads(test, { id: 'form-8', firstName: 'Ada' });
  await sendLeads(test, [{ firstName: 'Cy' }, { id: 'form-8', firstName: 'Ben' }]);
  const { stdout } = await terminal().run('leads refused accept --all --json', { env: test.database.env });
  expect(JSON.parse(stdout)).toMatchObject([
    { accepted: true, leads: [{ result: 'added' }, { result: 'added', isIdNew: true }] },
  ]);
});
