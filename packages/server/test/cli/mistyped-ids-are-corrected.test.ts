import { expect, test } from 'vitest';
import { terminal, terminalWithUsers } from './terminal.ts';

test.each([
  ['token issue --user bosss', 'user bosss', 'boss'],
  ['token list --user bos', 'user bos', 'boss'],
  ['user set bosss --plan BASIC', 'user bosss', 'boss'],
  ['user remove Bosss', 'user Bosss', 'boss'],
])('%s', async (command, missing, meant) => {
  const { run } = await terminalWithUsers();
  const { code, stdout, stderr } = await run(command);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain(`leadtap: there is no ${missing}\n  Did you mean ${meant}?\n`);
});

test('a branch or a department of the company is found for user set and leads send-test', async () => {
  const { run } = await terminalWithUsers();
  const { companies } = JSON.parse((await run('org export')).stdout);
  const [{ id: company, users, branches }] = companies;
  const [{ id: branch, departments }] = branches;
  const user = users[0].id;
  const [{ id: department }] = departments;
  for (const [command, given, meant] of [
    [`user set ${user} --access-level BRANCH --branch ${branch}x`, `branch ${branch}x`, branch],
    [`leads send-test --company ${company} --branch ${branch}x`, `branch ${branch}x`, branch],
    [
      `leads send-test --company ${company} --department ${department}x`,
      `department ${department}x`,
      department,
    ],
  ])
    expect((await run(command)).stderr).toBe(
      `leadtap: company ${company} has no ${given}\n  Did you mean ${meant}?\n`,
    );
});

test('an id like no other: the users that exist, or how to create the first', async () => {
  const { run } = await terminalWithUsers();
  expect((await run('user remove qqqqqqqq')).stderr).toMatch(/\n {2}Known: \w+, .*\n/);
  const empty = terminal();
  await empty.run('migrate');
  expect((await empty.run('user remove ada')).stderr).toBe(
    'leadtap: there is no user ada\n  There is no user yet. `leadtap org apply` creates them.\n',
  );
});

test('more users than are shown: the command that lists them all', async () => {
  const { run, save } = terminal();
  const users = Array.from({ length: 11 }, (_, index) => ({
    id: `employee-${index}`,
    plan: 'BASIC',
    accessLevel: 'COMPANY',
  }));
  save('organisation.json', { companies: [{ id: 'a', name: 'A', users }] });
  await run('org apply organisation.json');
  expect((await run('user remove q')).stderr).toMatch(
    /Known: employee-0, .*, …\n {2}`leadtap user list` shows all users\.\n$/,
  );
});
