import { expect, test } from 'vitest';
import { NOW, terminal, terminalWithUsers } from './terminal.ts';

const CREATED_AT = new Date(NOW + 1).toISOString();

test('the lead is marked as a test, and every field has a value', async () => {
  const { run } = await terminalWithUsers();
  const { code, stdout, stderr } = await run('leads send-test --company acme --department sales', {
    env: { LEADTAP_METRICS_ADDRESS: 'off' },
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const [, id = ''] = /^Test lead (test-\S+) was added to company acme at (\S+)\.\n/.exec(stdout) ?? [];
  const lead = JSON.parse((await run(`leads show ${id} --json`)).stdout);
  expect(lead).toMatchObject({
    ...{ id, firstName: 'Test', lastName: 'Lead', fullName: 'Test Lead', email: 'test.lead@example.com' },
    ...{ branchName: 'North', departmentName: 'Sales', statusValue: 'NEW', createdAt: CREATED_AT },
    ...{ appointmentDateTime: '2026-03-03T14:00:00.000Z', customFields: { test: true } },
    addressNotes: expect.stringMatching(/^This is a test lead/),
  });
  expect(Object.values(lead)).not.toContain(null);
});

test.each<[string, readonly string[]]>([
  ['', ['boss']],
  ['--branch north', ['boss', 'north-lead']],
  ['--branch south', ['boss']],
  ['--department sales', ['boss', 'north-lead', 'seller']],
  ['--department service', ['boss', 'north-lead']],
])('a lead at the place "%s" is for %o', async (place, users) => {
  const { run } = await terminalWithUsers();
  const command = `leads send-test --company acme ${place}`.trim();
  const { stdout } = await run(`${command} --json`);
  const sent = JSON.parse(stdout);
  expect(sent).toMatchObject({ companyId: 'acme', createdAt: CREATED_AT });
  expect(sent.users.map((user: { id: string }) => user.id)).toEqual(users);
  const text = (await run(command)).stdout;
  expect(text.match(/^(boss|north-lead|seller|starter|rival)\b.*(COMPANY|BRANCH|DEPARTMENT)/gm)).toHaveLength(
    users.length,
  );
});

test('it says when no user gets the lead', async () => {
  const { run } = await terminalWithUsers();
  await run('user remove boss');
  const { code, stdout, stderr } = await run('leads send-test --company acme', {
    env: { LEADTAP_METRICS_ADDRESS: 'off' },
  });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Test lead [^\n]+\n$/);
  expect(stderr).toBe('No user sees it: none with the plan PROFESSIONAL has access to its place.\n');
});

test.each([
  ['leads send-test', 2, 'there is not exactly one company'],
  ['leads send-test --company acme --branch west', 1, 'company acme has no branch west'],
  ['leads send-test --company acme --department it', 1, 'company acme has no department it'],
  [
    'leads send-test --company acme --branch south --department sales',
    1,
    'department sales belongs to branch north, not to south\n  Leave --branch out.',
  ],
])('%s is refused, and nothing is added', async (command, code, message) => {
  const { run } = await terminalWithUsers();
  expect(await run(command)).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
  expect((await run('leads list --json')).stdout).toBe('[]\n');
});

test.each(['--branch', '--department'])('an empty %s is refused', async (option) => {
  const { run } = await terminalWithUsers();
  const { code, stderr } = await run(['leads', 'send-test', '--company', 'acme', option, '']);
  expect(code).toBe(2);
  expect(stderr).toContain(`${option} is empty`);
});

test('the company may be left out if there is only one', async () => {
  const { run, save } = terminal();
  save('one.json', { companies: [{ id: 'only', name: 'Only', branches: [], users: [] }] });
  await run('org apply one.json');
  expect((await run('leads send-test')).stdout).toMatch(/ was added to company only at /);
});
