import { LEAD_FIELDS } from '@leadtap/contract';
import { expect, test } from 'vitest';
import { NOW, terminalWithUsers } from './terminal.ts';

const lines = (...records: object[]) => records.map((record) => `${JSON.stringify(record)}\n`).join('');

const LEAD = {
  companyId: 'acme',
  id: '4711',
  departmentId: 'sales',
  firstName: 'Ada',
  lastName: 'Moreau',
  phone1: '+33 1 70 18 99 00',
  addressNotes: 'Second courtyard\nblue door',
  customFields: { area: { roof: 120 }, source: 'web' },
  images: ['https://example.com/1.jpg', 'https://example.com/2.jpg'],
  sameDay: true,
};

async function shellWith(...leads: object[]) {
  const shell = await terminalWithUsers();
  await shell.run('leads import -', { stdin: lines(...leads) });
  return shell;
}

test('all fields are shown, one below the other', async () => {
  const { run } = await shellWith(LEAD);
  const { code, stdout, stderr } = await run('leads show 4711');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  for (const { label, name } of LEAD_FIELDS)
    if (name !== 'statusValue') expect(stdout).toMatch(new RegExp(`^${label} {2,}\\S`, 'm'));
  const createdAt = new Date(NOW + 1).toISOString();
  for (const line of [
    'Lead ID        4711',
    'Full name      Ada Moreau',
    'Second phone   -',
    'Address notes  Second courtyard\n               blue door',
    'Status         New (NEW)',
    'Custom fields  area: {"roof":120}\n               source: web',
    'Images         https://example.com/1.jpg\n               https://example.com/2.jpg',
    'Same day       yes',
    `Created at     ${createdAt}`,
    'Company        Acme (acme)',
    'Branch         North (north)',
    'Department     Sales (sales)',
  ])
    expect(stdout).toContain(`${line}\n`);
});

test('JSON is the lead as the API has it, with the ids of its places', async () => {
  const { run } = await shellWith(LEAD, { companyId: 'globex', id: '4712', phone1: '1' });
  const lead = JSON.parse((await run('leads show 4711 --json')).stdout);
  expect(Object.keys(lead)).toEqual([
    ...LEAD_FIELDS.map(({ name }) => name),
    ...['companyId', 'branchId', 'departmentId', 'out'],
  ]);
  const { companyId, ...rest } = LEAD;
  expect(lead).toMatchObject({ ...rest, companyId, branchId: 'north', statusValue: 'NEW' });
  expect(JSON.parse((await run('leads show 4712 --json')).stdout)).toMatchObject({
    ...{ companyId: 'globex', branchId: null, departmentId: null, firstName: null },
  });
});

test('control characters are replaced', async () => {
  const { run } = await shellWith({ ...LEAD, addressNotes: '\u001b[2Jx' });
  expect((await run('leads show 4711')).stdout).toContain('Address notes  ?[2Jx\n');
});

test('an id of several companies needs --company', async () => {
  const { run } = await shellWith(LEAD, { companyId: 'globex', id: '4711', firstName: 'Bo' });
  expect(await run('leads show 4711')).toEqual({
    code: 1,
    stdout: '',
    stderr: 'leadtap: 2 companies have a lead 4711: acme, globex\n  Say which one you mean: --company acme\n',
  });
  const { stdout } = await run('leads show 4711 --company globex --json');
  expect(JSON.parse(stdout)).toMatchObject({ companyId: 'globex', firstName: 'Bo' });
});

test('a lead of another company is not found', async () => {
  const { run } = await shellWith(LEAD);
  const { code, stderr } = await run('leads show 4711 --company globex');
  expect({ code, stderr }).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('company globex has no lead 4711\n'),
  });
});
