import { expect, test } from 'vitest';
import { moveArgv, run, runMove } from './commands.ts';
import type { Endpoints } from './endpoints.ts';
import { makeFilledEndpoints } from './filled.ts';

const NUL = { companyId: 'acme', id: 'nul', fields: { customFields: { notes: [{ text: 'a\0b' }] } } };
const HALF = { companyId: 'acme', id: 'half', fields: { customFields: { 'key \ud83d': 1 } } };
const BEFORE_YEAR_0 = {
  companyId: 'globex',
  id: 'before-year-0',
  fields: { appointmentDateTime: Date.parse('-000001-06-01') },
};
const TWINS = { companyId: 'acme', id: 'twins', fields: { customFields: { 'a\0': 1, 'a\ufffd': 2 } } };

const isEmpty = async ({ sql }: Endpoints) => (await sql('SELECT FROM leadtap.companies')).length === 0;

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
  expect(stderr).toContain('--replace-characters');
  expect(await isEmpty(endpoints)).toBe(true);
});

test('at most 20 are listed, and the others are counted', async () => {
  const many = Array.from({ length: 23 }, (_, index) => ({ ...NUL, id: `nul-${index}` }));
  const { stderr } = await runMove(await makeFilledEndpoints({ more: many }));
  expect(stderr.match(/custom_fields holds/g)).toHaveLength(20);
  expect(stderr).toMatch(/^ {2}and 3 more$/m);
});

test('--replace-characters writes U+FFFD, reports where, and verifies the copy', async () => {
  const endpoints = await makeFilledEndpoints({ more: [NUL, HALF] });
  const { code, stdout, stderr } = await runMove(endpoints, '--replace-characters');
  expect(code).toBe(0);
  expect(stdout).toContain('moved and verified: ');
  expect(stderr).toMatch(/^U\+FFFD was written in 2 values:$/m);
  expect(stderr).toMatch(/^leads \{.*"id":"nul"\}: custom_fields/m);
  const kept = await endpoints.sql(
    `SELECT custom_fields FROM leadtap.leads WHERE id IN ('nul', 'half') ORDER BY id`,
  );
  expect(kept.map((row) => row['custom_fields'])).toEqual([
    { 'key \ufffd': 1 },
    { notes: [{ text: 'a\ufffdb' }] },
  ]);
  const again = await run(endpoints, moveArgv(endpoints, '--replace-characters', '--json'));
  expect(JSON.parse(again.stdout)).toMatchObject({ verified: true, replaced: 2 });
});

test.each([
  ['where two keys would become equal and lose a value', TWINS],
  ['in times', BEFORE_YEAR_0],
])('--replace-characters changes nothing %s', async (_where, lead) => {
  const endpoints = await makeFilledEndpoints({ more: [lead] });
  const { code, stderr } = await runMove(endpoints, '--replace-characters');
  expect(code).toBe(1);
  expect(stderr).toContain('PostgreSQL cannot store a value');
  expect(await isEmpty(endpoints)).toBe(true);
});
