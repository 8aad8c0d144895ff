import { expect, test } from 'vitest';
import { runMove } from './commands.ts';
import { makeFilledEndpoints } from './filled.ts';

const NUL = { companyId: 'acme', id: 'nul', fields: { customFields: { notes: [{ text: 'a\0b' }] } } };
const HALF = { companyId: 'acme', id: 'half', fields: { customFields: { 'key \ud83d': 1 } } };
const BEFORE_YEAR_0 = {
  companyId: 'globex',
  id: 'before-year-0',
  fields: { appointmentDateTime: Date.parse('-000001-06-01') },
};

test('values that PostgreSQL cannot store are named before anything is copied', async () => {
  const endpoints = await makeFilledEndpoints({ more: [NUL, HALF, BEFORE_YEAR_0] });
  const { code, stdout, stderr } = await runMove(endpoints);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain(
    'leadtap: PostgreSQL cannot store 3 values of this database; nothing was copied\n',
  );
  const expectReported = (company: string, id: string, problem: string) =>
    expect(stderr).toMatch(
      new RegExp(`^  leads \\{"company_id":"${company}",.*"id":"${id}"\\}: ${problem}$`, 'm'),
    );
  expectReported('acme', 'nul', 'custom_fields holds a NUL or half a character');
  expectReported('acme', 'half', 'custom_fields holds a NUL or half a character');
  expectReported('globex', 'before-year-0', 'appointment_date_time is before the year 0 or after 9999');
  expect(await endpoints.sql('SELECT FROM leadtap.companies')).toEqual([]);
});

test('at most 20 are listed, and the others are counted', async () => {
  const many = Array.from({ length: 23 }, (_, index) => ({ ...NUL, id: `nul-${index}` }));
  const { stderr } = await runMove(await makeFilledEndpoints({ more: many }));
  expect(stderr.match(/custom_fields holds/g)).toHaveLength(20);
  expect(stderr).toMatch(/^ {2}and 3 more$/m);
});
