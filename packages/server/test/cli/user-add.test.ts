import { describe, expect, test } from 'vitest';
import { terminal, terminalWithUsers } from './terminal.ts';

const ADD = ['user', 'add', 'ada', '--company', 'acme', '--plan', 'PROFESSIONAL'];
const COMPANY = [...ADD, '--access-level', 'COMPANY'];

describe('user add', () => {
  test('adds a user, who can get a token at once', async () => {
    const { run } = await terminalWithUsers();
    const named = [...COMPANY, '--name', 'Ada Moreau', '--email', 'ada@example.com'];
    expect(await run(named)).toEqual({
      code: 0,
      stdout: 'User ada was added.\n',
      stderr: '`leadtap token issue --user ada` creates a token.\n',
    });
    const users: { id: string }[] = JSON.parse((await run('user list --json')).stdout);
    expect(users.find(({ id }) => id === 'ada')).toEqual({
      ...{ id: 'ada', companyId: 'acme', email: 'ada@example.com', name: 'Ada Moreau' },
      ...{ plan: 'PROFESSIONAL', accessLevel: 'COMPANY', branchId: null, departmentId: null },
    });
    expect((await run('token issue --user ada')).code).toBe(0);
  });

  test('--json prints the user; a department determines the branch', async () => {
    const { run } = await terminalWithUsers();
    const { code, stdout } = await run([
      ...[...ADD, '--access-level', 'DEPARTMENT', '--department', 'south-sales', '--json'],
    ]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ id: 'ada', branchId: 'south', departmentId: 'south-sales' });
  });

  test('says so if the plan may not poll', async () => {
    const { run } = await terminalWithUsers();
    const { stderr } = await run('user add ada --company acme --plan BASIC --access-level COMPANY');
    expect(stderr).toContain('`leadtap user set ada --plan PROFESSIONAL`');
  });

  test('an existing user is not changed, and user set is named', async () => {
    const { run } = await terminalWithUsers();
    const { code, stderr } = await run('user add boss --company globex --plan BASIC --access-level COMPANY');
    expect(code).toBe(1);
    expect(stderr).toBe(
      'leadtap: user boss exists already, in company acme; nothing was changed\n  `leadtap user set boss` changes a user.\n',
    );
    expect((await run('user list')).stdout).toMatch(/^boss +acme +PROFESSIONAL/m);
  });

  test.each([
    ['--access-level BRANCH --branch nort', 'company acme has no branch nort\n'],
    ['--access-level DEPARTMENT --department it', 'company acme has no department it\n'],
  ])('%s is 1', async (flags, message) => {
    const { run } = await terminalWithUsers();
    const { code, stderr } = await run(`user add ada --plan PROFESSIONAL --company acme ${flags}`);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
    expect(stderr).toContain('`leadtap org export --company acme` shows what it has.');
  });

  test('changes nothing else of the organisation', async () => {
    const { run } = await terminalWithUsers();
    const before = JSON.parse((await run('org export')).stdout);
    await run(COMPANY);
    await run('user remove ada');
    expect(JSON.parse((await run('org export')).stdout)).toEqual(before);
  });

  test.each([
    ['user add ada --company acme --access-level COMPANY', '--plan'],
    ['user add ada --company acme --plan PROFESSIONAL', '--access-level'],
    ['user add ada --plan PROFESSIONAL --access-level COMPANY', '--company'],
    ['user add ada --company acme --plan pro --access-level COMPANY', '--plan must be an upper-case word'],
    ['user add ada --company acme --plan BASIC --access-level BRANCH', '--branch is needed for BRANCH'],
    [
      'user add ada --company acme --plan BASIC --access-level DEPARTMENT',
      '--department is needed for DEPARTMENT',
    ],
    [
      'user add ada --company acme --plan BASIC --access-level COMPANY --branch north',
      '--branch has no effect at the access level COMPANY',
    ],
    [
      'user add ada --company acme --plan BASIC --access-level COMPANY --email ada',
      '--email must be an e-mail address',
    ],
  ])('%s is refused with 2', async (command, message) => {
    const { code, stderr } = await terminal().run(command);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});
