import type { LeadInput } from 'leadtap';
import { expect, it, onTestFinished } from 'vitest';
import { makeTestDatabase } from '../../../testing/harness/database.ts';

const twoDigits = (number: number) => `${number}`.padStart(2, '0');
const numbers = (count: number) => Array.from({ length: count }, (_, number) => number);

const TIMESLOTS = [
  ...numbers(100).map((hour) => `${twoDigits(hour)}:00`),
  ...numbers(100).map((minute) => `23:${twoDigits(minute)}`),
];
const isTimeOfDay = (timeslot: string) => /^([01]\d|2[0-3]):[0-5]\d$/.test(timeslot);

const lead = (timeslot: string | null, index = 0): LeadInput => ({
  companyId: 'acme',
  id: `lead-${index}`,
  fields: { timeslot },
});

it('the database accepts timeslots from 00:00 to 23:59 and nothing else', async () => {
  const store = await (await makeTestDatabase()).openStore();
  onTestFinished(() => store.close());
  await store.applyOrganisation({ companies: [{ id: 'acme', name: 'Acme', branches: [], users: [] }] });
  const accepted = TIMESLOTS.filter(isTimeOfDay);
  expect(accepted).toHaveLength(84);
  const { kind } = await store.writeLeads([...accepted.map(lead), lead(null)]);
  expect(kind).toBe('written');
  const refused = [
    ...TIMESLOTS.filter((timeslot) => !isTimeOfDay(timeslot)),
    '',
    '9:00',
    '09:00:00',
    '09-00',
  ];
  // One after the other: in parallel, some would time out while they wait for a connection.
  for (const timeslot of refused) {
    const { results } = await store.writeLeads([lead(timeslot)]);
    expect([timeslot, results]).toMatchObject([timeslot, [{ problem: { reason: 'not-stored' } }]]);
  }
});
