import { describe, expect, test } from 'vitest';
import { terminal, terminalWithUsers } from './terminal.ts';

describe('user list', () => {
  test('prints an aligned table in the order of the ids', async () => {
    const { run } = await terminalWithUsers();
    const { code, stdout, stderr } = await run('user list');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.trim().split('\n');
    expect(lines.map((line) => line.split(/ {2,}/)[0])).toEqual([
      'ID',
      'boss',
      'north-lead',
      'rival',
      'rival-north',
      'rival-seller',
      'seller',
      'starter',
    ]);
    const column = lines[0]?.indexOf('PLAN') ?? -1;
    for (const line of lines.slice(1)) expect(line.slice(column)).toMatch(/^(PROFESSIONAL|STARTER) /);
    expect(lines[1]).toMatch(/^boss +acme +PROFESSIONAL +COMPANY +- +- +boss +boss@example\.com$/);
  });

  test('prints every user, however many pages they fill', async () => {
    const { run } = terminal();
    const ids = Array.from({ length: 1003 }, (_, index) => `user-${String(index).padStart(4, '0')}`);
    const users = ids.map((id) => ({ id, plan: 'BASIC', accessLevel: 'COMPANY' }));
    await run('org apply -', { stdin: JSON.stringify({ companies: [{ id: 'a', name: 'A', users }] }) });
    const listed: { id: string }[] = JSON.parse((await run('user list --json')).stdout);
    expect(listed.map(({ id }) => id)).toEqual(ids);
    expect((await run('user list')).stdout.match(/^user-\d+/gm)).toEqual(ids);
  });

  test('names org apply if there are none', async () => {
    const { run } = terminal();
    await run('migrate');
    expect(await run('user list')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'There are no users yet. `leadtap org apply` creates them.\n',
    });
    expect((await run('user list --json')).stdout).toBe('[]\n');
  });
});

describe('user set', () => {
  test('changes what is given and nothing else', async () => {
    const { run } = await terminalWithUsers();
    const { code, stdout } = await run('user set starter --plan PROFESSIONAL');
    expect(code).toBe(0);
    expect(stdout).toBe('User starter was changed.\n  plan: STARTER -> PROFESSIONAL\n');
    const after = await run(['user', 'set', 'starter', '--name', 'Ada Moreau', '--email', '', '--json']);
    expect(JSON.parse(after.stdout)).toEqual({
      id: 'starter',
      companyId: 'acme',
      name: 'Ada Moreau',
      email: null,
      plan: 'PROFESSIONAL',
      accessLevel: 'COMPANY',
      branchId: null,
      departmentId: null,
    });
  });

  test('moves a user to a branch, a department and back', async () => {
    const { run } = await terminalWithUsers();
    const branch = await run('user set boss --access-level BRANCH --branch south');
    expect(branch.stdout).toBe(
      'User boss was changed.\n  access level: COMPANY -> BRANCH\n  branch: none -> south\n',
    );
    const department = await run('user set boss --access-level DEPARTMENT --department sales --json');
    expect(JSON.parse(department.stdout)).toMatchObject({ branchId: 'north', departmentId: 'sales' });
    const all = await run('user set boss --access-level COMPANY --json');
    expect(JSON.parse(all.stdout)).toMatchObject({ branchId: null, departmentId: null });
  });

  test('says if nothing changed', async () => {
    const { run } = await terminalWithUsers();
    expect((await run('user set boss --plan PROFESSIONAL')).stdout).toBe(
      'User boss already has these values. Nothing changed.\n',
    );
  });

  test.each([
    ['user set boss --email nonsense', 2, '--email must be an e-mail address, such as ada@example.com'],
    ['user set boss', 2, 'there is nothing to change'],
    ['user set boss --plan pro', 2, '--plan must be an upper-case word, such as PROFESSIONAL'],
    ['user set boss --access-level REGION', 2, 'Allowed choices are COMPANY, BRANCH, DEPARTMENT'],
    ['user set boss --access-level BRANCH', 2, 'Add --branch ID.'],
    ['user set boss --access-level BRANCH --branch oslo', 1, 'company acme has no branch oslo'],
    ['user set seller --department oslo', 1, 'company acme has no department oslo'],
    ['user set boss --branch north', 2, 'Add --access-level BRANCH, or remove --branch.'],
  ])('%s is refused', async (command, code, message) => {
    const { run } = await terminalWithUsers();
    const before = (await run('user list --json')).stdout;
    const refused = await run(command);
    expect(refused).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
    expect((await run('user list --json')).stdout).toBe(before);
  });

  test('names with control codes are refused', async () => {
    const { run } = await terminalWithUsers();
    const { code, stderr } = await run(['user', 'set', 'boss', '--name', 'a\u001b[2Jb']);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'leadtap: --name must not hold control or broken characters\n',
    });
  });
});

test('user remove removes', async () => {
  const { run } = await terminalWithUsers();
  expect(await run('user remove boss')).toEqual({
    code: 0,
    stdout: 'User boss was removed, and 0 tokens were revoked.\n',
    stderr: '',
  });
  expect((await run('user list')).stdout).not.toContain('boss');
});
