import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { DEFAULT_STATUSES } from '../../src/accounts/organisation-changes.ts';
import { ExitCode } from '../../src/cli/exit.ts';
import { terminal, terminalWithUsers } from '../cli/terminal.ts';

const company = (parts: object = {}) => ({ companies: [{ id: 'acme', name: 'Acme', ...parts }] });
const user = (id: string, plan = 'PROFESSIONAL') => ({ id, plan, accessLevel: 'COMPANY' });

test('the first time everything is created, the second time nothing changes', async () => {
  const { run, save } = terminal();
  save('organisation.json', company({ users: [user('ada')] }));
  const first = await run('org apply organisation.json');
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(first.stdout).toMatch(/^companies +1 +0 +0$/m);
  expect(first.stdout).toMatch(/^users +1 +0 +0$/m);
  const second = await run('org apply organisation.json');
  expect(second.stdout).toMatch(/^companies +0 +0 +1$/m);
  expect(second.stdout).toMatch(/^users +0 +0 +1$/m);
});

test('what differs is updated, and --json prints it as JSON', async () => {
  const { run } = terminal();
  await run('org apply -', { stdin: JSON.stringify(company({ users: [user('ada'), user('bo')] })) });
  const stdin = `\uFEFF${JSON.stringify(company({ name: 'Acme Ltd', users: [user('ada', 'BASIC'), user('bo')] }))}`;
  const { code, stdout } = await run('org apply - --json', { stdin });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    companies: { created: 0, updated: 1, unchanged: 0 },
    users: { created: 0, updated: 1, unchanged: 1 },
    keptStatuses: [],
    removedStatuses: [],
  });
});

test('a status that leads still have is kept, another is removed, and both are reported', async () => {
  const { run } = await terminalWithUsers();
  await run('leads import - --format ndjson', {
    stdin: '{"companyId":"acme","phone1":"1","statusValue":"LOST"}\n',
  });
  const statuses = DEFAULT_STATUSES.filter(({ value }) => value !== 'LOST' && value !== 'QUOTED');
  const { code, stderr } = await run('org apply -', { stdin: JSON.stringify(company({ statuses })) });
  expect(code).toBe(0);
  expect(stderr).toBe(
    'Status LOST of company acme was kept: leads still have it.\n' +
      'Status QUOTED of company acme was removed: the file does not list it.\n',
  );
});

test('a signal ends the wait for standard input', async () => {
  const controller = new AbortController();
  const stdin = new Readable({ read: () => controller.abort(new ExitCode(143)) });
  const { run } = terminal();
  expect(await run('org apply -', { parts: { stdin, signal: controller.signal } })).toEqual({
    code: 143,
    stdout: '',
    stderr: '',
  });
});

describe('a file that cannot be applied', () => {
  test('standard input that fails', async () => {
    const broken = Object.assign(new Error('read'), { code: 'EISDIR' });
    const stdin = new Readable({
      read() {
        this.destroy(broken);
      },
    });
    const { code, stderr } = await terminal().run('org apply -', { parts: { stdin } });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^leadtap: standard input cannot be read \(EISDIR\)\n/);
  });

  test('an invalid file: every error is listed with its place, and nothing changes', async () => {
    const { run } = terminal();
    await run('migrate');
    const stdin = JSON.stringify(company({ users: [user('ada'), { id: 'bo', plan: 'pro' }] }));
    expect(await run('org apply -', { stdin })).toEqual({
      code: 1,
      stdout: '',
      stderr: [
        'leadtap: standard input is not a valid organisation file; nothing was changed',
        '  companies[0].users[1].accessLevel is missing',
        '  companies[0].users[1].plan must be an upper-case word, such as PROFESSIONAL',
        '',
      ].join('\n'),
    });
    expect((await run('user list --json')).stdout).toBe('[]\n');
  });

  test('a file that is not JSON', async () => {
    const { run, save } = terminal();
    save('organisation.json', '{\n  "companies": [}\n');
    const { code, stderr } = await run('org apply organisation.json');
    expect(code).toBe(1);
    expect(stderr).toContain('leadtap: organisation.json is not JSON; nothing was changed\n');
    expect(stderr.trim().split('\n')).toHaveLength(3);
  });

  test('a missing file, and a folder', async () => {
    const { run } = terminal();
    expect(await run('org apply nowhere.json')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('leadtap: there is no file nowhere.json\n'),
    });
    expect((await run('org apply .')).stderr).toContain('EISDIR');
  });

  test('a user of another company and a department of another branch', async () => {
    const { run } = await terminalWithUsers();
    const departments = [{ id: 'sales', name: 'Sales' }];
    const file = company({ branches: [{ id: 'south', name: 'South', departments }], users: [user('rival')] });
    const { code, stderr } = await run('org apply -', { stdin: JSON.stringify(file) });
    expect(code).toBe(1);
    expect(stderr).toContain('User rival belongs to company globex, not to acme.');
    expect(stderr).toContain('leadtap user remove rival');
    expect(stderr).toContain('Department sales of company acme belongs to branch north, not to south.');
    const again = await run('org apply - --json', { stdin: JSON.stringify(ORGANISATION) });
    expect(JSON.parse(again.stdout).users).toEqual({ created: 0, updated: 0, unchanged: 7 });
  });
});
