import { LEAD_FIELDS } from '@leadtap/contract';
import { describe, expect, test } from 'vitest';
import { ExitCode } from '../../src/cli/exit.ts';
import { NOW, terminalWithUsers } from './terminal.ts';

const lines = (...records: object[]) => records.map((record) => `${JSON.stringify(record)}\n`).join('');
const at = (ms: number) => new Date(NOW + ms).toISOString();

/** Two companies with two leads each. The leads of acme are stamped 1 and 2 ms after the clock, and those of globex, too. */
async function shellWithLeads() {
  const shell = await terminalWithUsers();
  const stdin = lines(
    { companyId: 'acme', id: 'a1', firstName: 'Ada', lastName: 'Moreau', departmentId: 'sales' },
    { companyId: 'globex', id: 'g1', fullName: 'Grace Hopper', branchId: 'north' },
    { companyId: 'acme', id: 'a2', statusValue: 'WON', email: 'a2@example.com' },
    { companyId: 'globex', id: 'g2', firstName: 'Greta' },
  );
  await shell.run('leads import -', { stdin });
  return shell;
}

const idsOf = (stdout: string): string[] => JSON.parse(stdout).map(({ id }: { id: string }) => id);

test('the newest leads come first, in an aligned table', async () => {
  const { run } = await shellWithLeads();
  const { code, stdout, stderr } = await run('leads list --company acme');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toBe(
    [
      'CREATED                   ID  NAME        STATUS  PLACE',
      `${at(2)}  a2  -           Won     -`,
      `${at(1)}  a1  Ada Moreau  New     North / Sales`,
      '',
    ].join('\n'),
  );
});

test('with since, the leads after it come oldest first, as in a poll', async () => {
  const { run } = await shellWithLeads();
  const since = async (value: string) =>
    idsOf((await run(`leads list --company acme --json --since ${value}`)).stdout);
  expect(await since('1970-01-01')).toEqual(['a1', 'a2']);
  expect(await since(at(1))).toEqual(['a2']);
  expect(await since(at(2))).toEqual([]);
  expect(await since('1m')).toEqual(['a1', 'a2']);
});

test('without a company, leads of all companies are listed, also those of the same millisecond', async () => {
  const { run } = await shellWithLeads();
  const { stdout } = await run('leads list');
  expect(stdout.match(/^CREATED +COMPANY +ID/)).not.toBeNull();
  expect(stdout.match(/(?<=Z {2})\w+ +\w+/g)).toEqual([
    'globex   g2',
    'acme     a2',
    'globex   g1',
    'acme     a1',
  ]);
  expect(idsOf((await run('leads list --since 1970-01-01 --json')).stdout)).toEqual(['a1', 'g1', 'a2', 'g2']);
});

test('the limit keeps the first leads of the list, and a message says that there are more', async () => {
  const { run } = await shellWithLeads();
  const { stdout, stderr } = await run('leads list --limit 3');
  expect(stdout.match(/\b[ag]\d\b/g)).toEqual(['g2', 'a2', 'g1']);
  expect(stderr).toBe('There are more leads. --limit N shows more of them.\n');
  expect((await run('leads list --limit 4')).stderr).toBe('');
});

test('any number of pages is listed, each lead once', async () => {
  const { run } = await terminalWithUsers();
  const ids = Array.from({ length: 1203 }, (_, index) => `lead-${index}`);
  const companies = ['acme', 'globex'];
  const records = ids.map((id, index) => ({ companyId: companies[index % 2], id, phone1: '1' }));
  await run('leads import -', { stdin: lines(...records) });
  const since = await run('leads list --since 1970-01-01 --limit 5000 --json');
  expect(idsOf(since.stdout).sort()).toEqual([...ids].sort());
  const newest = await run('leads list --limit 5000 --json');
  expect(idsOf(newest.stdout)).toEqual(idsOf(since.stdout).reverse());
  expect((await run('leads list --limit 1001')).stdout.match(/lead-\d+/g)).toHaveLength(1001);
  const last = idsOf(newest.stdout).at(-1) ?? '';
  expect(idsOf((await run(`leads list --search ${last} --limit 1 --json`)).stdout)).toHaveLength(1);
});

describe('--search', () => {
  const PEOPLE = [
    { id: 'K-1001', firstName: 'Élodie', lastName: 'Petit', phone1: '+33 6 12 34 56 78' },
    { id: 'K-1002', fullName: 'Bo Berg', email: 'Bo.Berg@Example.com', phone2: '0049 170 1234567' },
    { id: 'x', firstName: 'Élodie', lastName: 'Grand', email: 'e@example.org' },
  ].map((person) => ({ companyId: 'acme', ...person }));

  async function shellWithPeople() {
    const shell = await terminalWithUsers();
    await shell.run('leads import -', {
      stdin: lines(...PEOPLE, { companyId: 'globex', id: 'g', firstName: 'Bo' }),
    });
    const search = async (text: string, ...flags: string[]) =>
      idsOf((await shell.run(['leads', 'list', '--json', '--search', text, ...flags])).stdout);
    return { ...shell, search };
  }

  test.each([
    ['elodie', ['x', 'K-1001']],
    ['k-100', ['K-1002', 'K-1001']],
    ['06 12 34 56 78', ['K-1001']],
  ])('%s', async (text, ids) => {
    const { search } = await shellWithPeople();
    expect(await search(text, '--company', 'acme')).toEqual(ids);
  });

  test('searches all companies, in the order of the list, up to the limit', async () => {
    const { search, run } = await shellWithPeople();
    expect(await search('bo')).toEqual(expect.arrayContaining(['g', 'K-1002']));
    expect(await search('bo', '--limit', '1')).toHaveLength(1);
    expect(await search('bo', '--since', at(1), '--company', 'acme')).toEqual(['K-1002']);
    const { stderr } = await run('leads list --search elodie --limit 1');
    expect(stderr).toBe('There are more leads. --limit N shows more of them.\n');
  });

  test('says what it did not find', async () => {
    const { run } = await shellWithPeople();
    expect((await run('leads list --search mallory')).stderr).toBe(
      'There are no leads with "mallory" in a name, e-mail address, phone number or id.\n',
    );
    expect((await run(['leads', 'list', '--search', ' '])).code).toBe(2);
  });
});

test('JSON has the fields of the API and the ids of the places', async () => {
  const { run } = await shellWithLeads();
  const [lead] = JSON.parse(
    (await run('leads list --company acme --since 1970-01-01 --limit 1 --json')).stdout,
  );
  expect(Object.keys(lead)).toHaveLength(LEAD_FIELDS.length + 3);
  expect(lead).toMatchObject({
    ...{ id: 'a1', fullName: 'Ada Moreau', statusValue: 'NEW', createdAt: at(1), branchName: 'North' },
    ...{ companyId: 'acme', branchId: 'north', departmentId: 'sales' },
  });
});

test('on a terminal, rows are shortened to its width, and control characters are removed', async () => {
  const { run } = await terminalWithUsers();
  const fullName = `\u001b[2J${'Ada '.repeat(40)}`;
  await run('leads import -', {
    stdin: lines({ companyId: 'acme', id: 'a1', fullName, departmentId: 'sales' }),
  });
  const { stdout } = await run('leads list', { isTTY: true });
  const [, row = ''] = stdout.split('\n');
  expect(row).toHaveLength(80);
  expect(row).toContain('?[2JAda');
  expect(row).toContain('…');
  expect(row).not.toContain('\u001b');
  expect((await run('leads list')).stdout).toContain(fullName.trim().slice(1));
});

test('--json escapes characters that control a terminal or change the direction of text', async () => {
  const { run } = await terminalWithUsers();
  const fullName = 'Ada\u202ecod\u009b\u{e0001}\u2028x';
  await run('leads import -', { stdin: lines({ companyId: 'acme', id: 'a1', fullName }) });
  for (const command of ['leads list --json', 'leads show a1 --json']) {
    const { stdout } = await run(command);
    expect(stdout).not.toMatch(/[^\n -~]/);
    expect([JSON.parse(stdout)].flat()[0].fullName).toBe(fullName);
  }
});

test('no leads are a message, not a table', async () => {
  const { run } = await terminalWithUsers();
  expect(await run('leads list')).toEqual({ code: 0, stdout: '', stderr: 'There are no leads.\n' });
  expect((await run('leads list --since 2026-03-02')).stderr).toBe(
    'There are no leads created after 2026-03-02T00:00:00.000Z.\n',
  );
  expect((await run('leads list --json')).stdout).toBe('[]\n');
});

test.each([
  ['leads list --since yesterday', 2, 'Write a time such as 2026-03-02T09:30:00Z'],
  ['leads list --since 0m', 2, 'Write a time such as 2026-03-02T09:30:00Z'],
  ['leads list --limit 0', 2, 'Give a whole number of at least 1.'],
])('%s is refused', async (command, code, message) => {
  const { run } = await terminalWithUsers();
  expect(await run(command)).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
});

test('it stops when it is aborted', async () => {
  const { run } = await shellWithLeads();
  const signal = AbortSignal.abort(new ExitCode(130));
  expect(await run('leads list', { parts: { signal } })).toEqual({ code: 130, stdout: '', stderr: '' });
});
