import { expect, it, onTestFinished } from 'vitest';
import { makeTestDatabase } from '../harness/database.ts';

const twoDigits = (number: number) => `${number}`.padStart(2, '0');
const numbers = (count: number) => Array.from({ length: count }, (_, number) => number);

it('the database takes 00:00 to 23:59 for a timeslot and nothing beyond, whoever writes', async () => {
  const store = await (await makeTestDatabase()).openStore();
  onTestFinished(() => store.close());
  await store.applyOrganisation({ companies: [{ id: 'acme', name: 'Acme', branches: [], users: [] }] });
  const isTaken = (timeslot: string | null) =>
    store.writeLeads([{ companyId: 'acme', id: 'lead', fields: { timeslot } }]).then(
      () => true,
      () => false,
    );
  const hours = numbers(100).map((hour) => isTaken(`${twoDigits(hour)}:00`));
  expect(await Promise.all(hours)).toEqual(numbers(100).map((hour) => hour < 24));
  const minutes = numbers(100).map((minute) => isTaken(`23:${twoDigits(minute)}`));
  expect(await Promise.all(minutes)).toEqual(numbers(100).map((minute) => minute < 60));
  for (const wrong of ['', '9:00', '09:00:00', '09-00']) expect(await isTaken(wrong)).toBe(false);
  expect(await isTaken(null)).toBe(true);
});
