import fc from 'fast-check';
import type { LeadFields } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService } from '../../../testing/harness/service.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';

/** The table of the specification, in its order, and by hand: `LEAD_FIELDS` must not change it by mistake. */
const FIELDS = [
  'id',
  'firstName',
  'lastName',
  'fullName',
  'phone1',
  'phone2',
  'email',
  'address',
  'postalCode',
  'addressNotes',
  'appointmentDateTime',
  'timeslot',
  'statusValue',
  'status',
  'customFields',
  'images',
  'sameDay',
  'createdAt',
  'updatedAt',
  'companyName',
  'branchName',
  'departmentName',
  'automation_trigger_id',
  'automation_created_at',
];

const FULL: Required<LeadFields> = {
  firstName: 'Ada',
  lastName: 'Moreau',
  fullName: 'Dr Ada Moreau',
  phone1: '+33 1 70 18 99 00',
  phone2: '+33 6 39 98 12 34',
  email: 'ada@example.com',
  address: '12 Rue des Lilas, Lyon',
  postalCode: '69003',
  addressNotes: 'Second courtyard',
  appointmentDateTime: Date.parse('2026-03-05T14:00:00Z'),
  timeslot: '14:00',
  // In the order in which PostgreSQL stores them.
  customFields: { nested: { flags: [true, null], roofArea: 120 }, source: 'website' },
  images: ['https://images.example.com/roof.jpg'],
  sameDay: true,
};

describe('a lead', () => {
  const shared = shareService();

  const STAMP = '2026-03-02T09:30:00.001Z';
  const STAMPED = {
    createdAt: STAMP,
    updatedAt: STAMP,
    companyName: 'Acme',
    automation_created_at: STAMP,
  };

  const inOrder = (lead: Record<string, unknown>) =>
    Object.fromEntries(FIELDS.map((name) => [name, lead[name]]));

  it('is these bytes: the fields in the order of the specification', async () => {
    const { add, poll } = await startService({ clock: manualClock('2026-03-02T09:30:00.000Z') });
    await add({ id: 'lead-1', departmentId: 'sales', statusValue: 'APPOINTMENT', fields: FULL });
    const text = await (await poll('boss')).text();
    const [{ automation_trigger_id: triggerId }] = JSON.parse(text);
    const expected = inOrder({
      ...FULL,
      ...STAMPED,
      id: 'lead-1',
      appointmentDateTime: '2026-03-05T14:00:00.000Z',
      statusValue: 'APPOINTMENT',
      status: { value: 'APPOINTMENT', label: 'Appointment', color: '#d97706', final: false },
      branchName: 'North',
      departmentName: 'Sales',
      automation_trigger_id: triggerId,
    });
    expect(text).toBe(JSON.stringify([expected]));
    expect(triggerId).toMatch(/^[\w-]{1,64}$/);
  });

  it('has all fields if almost none is given, null where allowed', async () => {
    const { add, leads } = await startService({ clock: manualClock('2026-03-02T09:30:00.000Z') });
    await add({});
    const [lead] = await leads('boss');
    expect(Object.keys(lead ?? {})).toEqual(FIELDS);
    expect(lead).toEqual({
      ...Object.fromEntries(FIELDS.map((name) => [name, null])),
      ...STAMPED,
      id: expect.stringMatching(/^.{1,64}$/),
      fullName: '',
      statusValue: 'NEW',
      status: { value: 'NEW', label: 'New', color: '#2563eb', final: false },
      customFields: {},
      images: [],
      sameDay: false,
      automation_trigger_id: expect.stringMatching(/^[\w-]{1,64}$/),
    });
  });

  it.each([
    ['both names', { firstName: 'Ada', lastName: 'Moreau' }, 'Ada Moreau'],
    ['the first alone', { firstName: 'Ada' }, 'Ada'],
    ['the last alone', { lastName: 'Moreau' }, 'Moreau'],
    ['an empty first and a last', { firstName: '', lastName: 'Moreau' }, 'Moreau'],
    ['the full name, when it is given', { firstName: 'Ada', fullName: 'Countess Ada' }, 'Countess Ada'],
    ['nothing', {}, ''],
  ])('has a fullName of %s', async (_what, fields, expected) => {
    await shared().add({ fields });
    expect(await shared().leads('boss', 'limit=1')).toMatchObject([{ fullName: expected }]);
  });

  it.each([
    ['NEW', 'New', false],
    ['CONTACTED', 'Contacted', false],
    ['APPOINTMENT', 'Appointment', false],
    ['QUOTED', 'Quoted', false],
    ['WON', 'Won', true],
    ['LOST', 'Lost', true],
  ])('has the status %s of the default catalogue', async (value, label, final) => {
    const { add, leads } = shared();
    await add({ statusValue: value });
    const [lead] = await leads('boss', 'limit=1');
    expect(lead?.statusValue).toBe(value);
    expect(lead?.status).toEqual({ value, label, color: expect.stringMatching(/^#[0-9a-f]{6}$/), final });
  });

  it("has the statuses of the company's own catalogue, by default the first", async () => {
    const statuses = [
      { value: 'OPEN', label: 'Offen', color: '#000000', final: false },
      { value: 'DONE', label: 'Erledigt', color: '#ffffff', final: true },
    ];
    const organisation = { companies: [{ id: 'acme', name: 'Acme', statuses, branches: [], users: [] }] };
    const { add, leads, store } = await startService();
    await store.applyOrganisation(organisation);
    await add({}, { statusValue: 'DONE' });
    expect((await leads('boss')).map(({ status }) => status)).toEqual([...statuses].reverse());
  });

  it('has times in UTC with three fraction digits, also for whole seconds', async () => {
    const { add, leads } = await startService({ clock: manualClock('2026-03-02T09:29:59.999Z') });
    await add({ fields: { appointmentDateTime: 0 } });
    expect(await leads('boss')).toMatchObject([
      {
        appointmentDateTime: '1970-01-01T00:00:00.000Z',
        createdAt: '2026-03-02T09:30:00.000Z',
        updatedAt: '2026-03-02T09:30:00.000Z',
        automation_created_at: '2026-03-02T09:30:00.000Z',
      },
    ]);
  });
});

describe('leads', () => {
  it('have unique trigger ids', async () => {
    const { add, leads } = await startService();
    await add(...Array.from({ length: 100 }, () => ({})));
    const page = await leads('boss');
    expect(new Set(page.map((lead) => lead.automation_trigger_id)).size).toBe(100);
    expect(new Set(page.map((lead) => lead.createdAt)).size).toBe(100);
    expect(new Set(page.map((lead) => lead.id)).size).toBe(100);
  });
});

describe('any content of a lead', () => {
  const clock = manualClock();
  const shared = shareService({ clock });

  /** Every character but NUL, which intake rejects. */
  const text = fc.string({ unit: 'binary' }).filter((given) => !given.includes('\0'));

  it('is returned unchanged, with its length in bytes', async () => {
    const fields = fc.record({
      firstName: text,
      address: text,
      customFields: fc.dictionary(text, fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null))),
      images: fc.array(text.map((path) => `https://a/${path.replaceAll(/\s/g, '')}`)),
    });
    await fc.assert(
      fc.asyncProperty(fields, async (given) => {
        clock.advance(60_000);
        await shared().add({ id: 'a', fields: given });
        const { inject, token } = shared();
        const answer = await inject({
          url: '/automation/new-leads',
          headers: { authorization: `Bearer ${await token('boss')}` },
        });
        expect(answer.headers['content-length']).toBe(String(Buffer.byteLength(answer.body)));
        expect(JSON.parse(answer.body)).toMatchObject([JSON.parse(JSON.stringify(given))]);
      }),
    );
  });
});
