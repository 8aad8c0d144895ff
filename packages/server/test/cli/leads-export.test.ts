import { readFileSync, statSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ExitCode } from '../../src/cli/exit.ts';
import { NOW, terminalWithUsers } from './terminal.ts';

const lines = (...records: object[]) => records.map((record) => `${JSON.stringify(record)}\n`).join('');
const DAY_MS = 86_400_000;

const RICH = {
  ...{ companyId: 'acme', id: 'a1', departmentId: 'sales', firstName: 'Zoë', lastName: '"Groß", Söhne' },
  ...{ phone1: '+33 1 70 18 99 00', phone2: '=1+1', email: 'zoe@example.com', address: '-5 @Home; Lyon' },
  ...{ postalCode: '01067', addressNotes: "first\r\nsecond\n'=x", timeslot: '14:00', statusValue: 'WON' },
  ...{ appointmentDateTime: '2026-03-05T14:00:00.000Z', sameDay: true },
  images: ['https://example.com/a.jpg', 'https://example.com/b.jpg'],
  customFields: { source: '=HYPERLINK("x")', 'Name, of field': 'yes', '@odd': '-1' },
};

type Shell = Awaited<ReturnType<typeof terminalWithUsers>>;

async function shellWithLeads(): Promise<Shell> {
  const shell = await terminalWithUsers();
  const stdin = lines(
    RICH,
    { companyId: 'globex', id: 'g1', fullName: 'Grace' },
    { companyId: 'acme', id: 'a2', firstName: 'Bo' },
  );
  await shell.run('leads import -', { stdin });
  return shell;
}

/** All fields of all leads but those that Leadtap sets. */
async function leadsOf(shell: Shell) {
  const leads: Record<string, unknown>[] = JSON.parse(
    (await shell.run('leads list --since 0000-01-01 --limit 5000 --json')).stdout,
  );
  return leads.map(
    ({ automation_trigger_id: _id, automation_created_at: _at, updatedAt: _updated, ...lead }) => lead,
  );
}

describe('an export can be imported elsewhere', () => {
  test.each(['ndjson', 'csv', 'json'])('as %s, with its times', async (format) => {
    const [from, to] = [await shellWithLeads(), await terminalWithUsers()];
    const { code, stdout, stderr } = await from.run(`leads export --format ${format}`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '3 leads exported\n' });
    writeFileSync(to.path(`leads.${format}`), stdout);
    const later = { parts: { clock: () => NOW + DAY_MS } };
    const imported = await to.run(`leads import leads.${format} --historical`, later);
    expect(imported).toMatchObject({ code: 0, stdout: '3 added, 0 updated, 0 rejected\n' });
    expect(await leadsOf(to)).toEqual(await leadsOf(from));
    expect((await to.run(`leads import leads.${format} --historical`, later)).stdout).toBe(
      '0 added, 3 updated, 0 rejected\n',
    );
  });

  test.each(['ndjson', 'csv'])('as %s, as new leads without their times', async (format) => {
    const [from, to] = [await shellWithLeads(), await terminalWithUsers()];
    const { stdout } = await from.run(`leads export --format ${format} --no-created-at`);
    writeFileSync(to.path(`leads.${format}`), stdout);
    expect((await to.run(`leads import leads.${format}`)).stdout).toBe('3 added, 0 updated, 0 rejected\n');
    const withoutTimes = (leads: object[]) => leads.map((lead) => ({ ...lead, createdAt: '' }));
    expect(withoutTimes(await leadsOf(to)).length).toBe(3);
    expect(withoutTimes(await leadsOf(to))).toEqual(
      expect.arrayContaining(withoutTimes(await leadsOf(from))),
    );
  });

  test('any text survives CSV', async () => {
    const from = await terminalWithUsers();
    const to = await terminalWithUsers();
    const text = fc.string({
      unit: fc.constantFrom(...'=+-@＝＠\'"\t\r\n,; aé0(|'),
      minLength: 1,
      maxLength: 8,
    });
    const samples = fc.sample(text, { numRuns: 300, seed: 1 });
    const stdin = lines(
      ...samples.map((value, index) => ({
        ...{ companyId: 'acme', id: `${index}`, firstName: `x${value}`, lastName: value },
        customFields: { x: value },
      })),
    );
    expect((await from.run('leads import -', { stdin })).code).toBe(0);
    writeFileSync(to.path('leads.csv'), (await from.run('leads export --format csv --no-created-at')).stdout);
    expect((await to.run('leads import leads.csv')).stdout).toBe('300 added, 0 updated, 0 rejected\n');
    const contents = async (shell: Shell) =>
      (await leadsOf(shell)).map(({ id, firstName, lastName, customFields }) => ({
        id,
        firstName,
        lastName,
        customFields,
      }));
    expect(await contents(to)).toEqual(await contents(from));
  });
});

describe('CSV', () => {
  test('no cell is a formula of a spreadsheet, and phone numbers are as they are', async () => {
    const { run } = await shellWithLeads();
    const { stdout } = await run('leads export --format csv --company acme');
    const cells = stdout.split(/[,\r\n]/).map((cell) => cell.replace(/^"/, ''));
    const risky = cells.filter((cell) => /^[=+\-@]/.test(cell));
    expect(risky).toEqual(['+33 1 70 18 99 00', '-1']);
    expect(stdout).toContain(`'=1+1`);
    expect(stdout).toContain(`"'=HYPERLINK(""x"")"`);
  });

  test('values of custom fields become text', async () => {
    const { run } = await terminalWithUsers();
    const customFields = { roofArea: 120, tags: ['a'], none: null, deep: { x: 1 } };
    await run('leads import -', { stdin: lines({ companyId: 'acme', id: '1', customFields }) });
    const { stdout } = await run('leads export --format csv');
    expect(stdout).toContain(
      'customFields.deep,customFields.none,customFields.roofArea,customFields.tags\r\n',
    );
    expect(stdout).toMatch(/,"\{""x"":1\}",,120,"\[""a""\]"\r\n$/);
  });

  test('a custom field without a name, which only other programs write, cannot be a column', async () => {
    const { run, database } = await terminalWithUsers();
    const store = await (await database()).openStore();
    await store.writeLeads([{ companyId: 'acme', id: '1', fields: { customFields: { '': 1 } } }]);
    await store.close();
    const { code, stderr } = await run('leads export --format csv');
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('Use --format ndjson.') });
    expect((await run('leads export')).code).toBe(0);
  });
});

test('more leads than a page are exported, company by company, each once', async () => {
  const { run } = await terminalWithUsers();
  const ids = Array.from({ length: 1203 }, (_, index) => `lead-${index}`);
  const records = ids.map((id, index) => ({
    companyId: index % 2 ? 'acme' : 'globex',
    id,
    firstName: 'Ada',
  }));
  await run('leads import -', { stdin: lines(...records) });
  const { stdout } = await run('leads export');
  const exported: { id: string; companyId: string; createdAt: string }[] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(exported.map(({ id }) => id).sort()).toEqual([...ids].sort());
  const keys = exported.map(({ companyId, createdAt }) => `${companyId} ${createdAt}`);
  expect(keys).toEqual([...keys].sort());
});

test('a company and a time limit the export', async () => {
  const { run } = await shellWithLeads();
  const idsOf = async (flags: string) =>
    (await run(`leads export ${flags}`)).stdout.match(/(?<="id":")\w+/g) ?? [];
  expect(await idsOf('--company acme')).toEqual(['a1', 'a2']);
  expect(await idsOf(`--company acme --since ${new Date(NOW + 1).toISOString()}`)).toEqual(['a2']);
  expect(await idsOf('--since 1h')).toEqual(['a1', 'a2', 'g1']);
  expect((await run('leads export --since 2027-01-01')).stdout).toBe('');
  expect((await run('leads export --since 2027-01-01 --json')).stdout).toBe('[]\n');
});

describe('--output', () => {
  test('writes a new file for its owner only, in the format of its name', async () => {
    const { run, path } = await shellWithLeads();
    const { stdout, stderr } = await run('leads export --output leads.csv');
    expect({ stdout, stderr }).toEqual({ stdout: '', stderr: '3 leads exported to leads.csv\n' });
    expect(readFileSync(path('leads.csv'), 'utf8')).toMatch(/^\uFEFFcompanyId,branchId,/);
    expect(statSync(path('leads.csv')).mode & 0o777).toBe(0o600);
    const again = await run('leads export --output leads.csv');
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('leads.csv already exists') });
    expect(readFileSync(path('leads.csv'), 'utf8')).toContain('a1');
  });

  test('a file that cannot be written is an error, and one that is not complete is removed', async () => {
    const { run, path } = await shellWithLeads();
    expect(await run('leads export --output nowhere/leads.csv')).toMatchObject({ code: 1, stdout: '' });
    const signal = AbortSignal.abort(new ExitCode(130));
    expect((await run('leads export --output half.csv', { parts: { signal } })).code).toBe(130);
    expect(() => statSync(path('half.csv'))).toThrow('ENOENT');
  });
});

test.each([
  ['leads export --format xml', 2, 'Allowed choices are ndjson, csv, json'],
  ['leads export --json --format csv', 2, 'cannot be used with'],
])('%s is refused', async (command, code, message) => {
  const { run } = await terminalWithUsers();
  expect(await run(command)).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
});
