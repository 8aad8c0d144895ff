import fc from 'fast-check';
import type { Company } from 'leadtap';
import { expect, inject, test } from 'vitest';
import { terminal, terminalWithUsers } from './terminal.ts';

test('prints a file that org apply accepts and that changes nothing', async () => {
  const { run } = await terminalWithUsers();
  const { code, stdout, stderr } = await run('org export');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^\{\n {2}"companies": \[\n {4}\{\n {6}"id": "acme",\n {6}"name": "Acme",\n/);
  const { stdout: changes } = await run('org apply - --json', { stdin: stdout });
  for (const { created, updated } of Object.values(JSON.parse(changes)).filter(hasCounts))
    expect({ created, updated }).toEqual({ created: 0, updated: 0 });
});

const hasCounts = (value: unknown): value is { created: number; updated: number } =>
  typeof value === 'object' && value !== null && 'created' in value;

test('--company prints one company', async () => {
  const { run } = await terminalWithUsers();
  const { companies } = JSON.parse((await run('org export --company globex')).stdout);
  expect(companies.map(({ id }: Company) => id)).toEqual(['globex']);
});

test('without companies it prints a file without companies', async () => {
  const { run } = terminal();
  await run('migrate');
  const { stdout } = await run('org export');
  expect(JSON.parse(stdout)).toEqual({ companies: [] });
  expect((await run('org apply -', { stdin: stdout })).code).toBe(0);
});

/** Ids and names as an organisation file allows them. */
const text = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
  .filter((value) => value.trim() !== '' && value.length <= 200 && !/[\p{Cc}\p{Cs}]/u.test(value));
const named = fc.record({ id: text, name: text });
const byId = { selector: ({ id }: { id: string }) => id, maxLength: 4 };
const word = fc.stringMatching(/^[A-Z][A-Z0-9_]{0,9}$/);
const status = fc.record({
  ...{ value: word, label: text, final: fc.boolean() },
  color: fc.stringMatching(/^#[0-9a-f]{6}$/),
});

const company = fc
  .record({
    ...{ id: text, name: text },
    statuses: fc.uniqueArray(status, { selector: ({ value }) => value, minLength: 1, maxLength: 4 }),
    branches: fc.uniqueArray(named, byId),
    departments: fc.uniqueArray(fc.tuple(named, fc.nat()), { selector: ([{ id }]) => id, maxLength: 6 }),
    users: fc.array(fc.tuple(fc.option(text), fc.boolean(), word, fc.nat()), { maxLength: 6 }),
  })
  .map(({ id, name, statuses, branches, departments, users }) => ({
    ...{ id, name, statuses },
    branches: branches.map((branch, index) => ({
      ...branch,
      departments: departments.filter(([, n]) => n % branches.length === index).map(([place]) => place),
    })),
    users: users.map(([userName, hasEmail, plan, n]) => ({
      id: `${[...id].slice(0, 4).join('')} ${n}`,
      ...(userName !== null && { name: userName }),
      ...(hasEmail && { email: `user${n}@example.com` }),
      plan,
      ...accessOf(branches, branches.length === 0 ? [] : departments.map(([place]) => place), n),
    })),
  }));

function accessOf(branches: readonly { id: string }[], departments: readonly { id: string }[], n: number) {
  const branch = branches[n % Math.max(branches.length, 1)];
  const department = departments[n % Math.max(departments.length, 1)];
  if (n % 3 === 1 && branch) return { accessLevel: 'BRANCH', branchId: branch.id };
  if (n % 3 === 2 && department) return { accessLevel: 'DEPARTMENT', departmentId: department.id };
  return { accessLevel: 'COMPANY' };
}

/** User ids are unique in the whole file. */
const organisation = fc.uniqueArray(company, byId).map((companies) => {
  const seen = new Set<string>();
  const isNew = ({ id }: { id: string }) => !seen.has(id) && seen.add(id);
  return { companies: companies.map((one) => ({ ...one, users: one.users.filter(isNew) })) };
});

const RUNS = { sqlite: 30, postgres: 8 };

test('export, apply to an empty database, and export again gives the same bytes', async () => {
  await fc.assert(
    fc.asyncProperty(organisation, async (file) => {
      const [first, second] = [terminal(), terminal()];
      expect(await first.run('org apply -', { stdin: JSON.stringify(file) })).toMatchObject({
        ...{ code: 0, stderr: '' },
      });
      const { stdout } = await first.run('org export');
      expect(await second.run('org apply -', { stdin: stdout })).toMatchObject({ code: 0, stderr: '' });
      expect((await second.run('org export')).stdout).toBe(stdout);
      const { companies } = JSON.parse(stdout);
      expect(companies).toHaveLength(file.companies.length);
      for (const { id, users } of file.companies)
        expect(companies.find((found: Company) => found.id === id).users).toHaveLength(users.length);
    }),
    { numRuns: RUNS[inject('store')], endOnFailure: true },
  );
});
