import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ExitCode } from '../../src/cli/exit.ts';
import { terminalWithUsers } from '../cli/terminal.ts';

const lines = (...records: object[]) => records.map((record) => `${JSON.stringify(record)}\n`).join('');
const lead = (id: string, rest: object = {}) => ({ companyId: 'acme', id, lastName: 'Moreau', ...rest });

const NOTHING_WRITTEN = 'Dry run: nothing was written.\n';

test('the counts and errors are those of the import that follows', async () => {
  const shell = await terminalWithUsers();
  await shell.run('leads import -', { stdin: lines(lead('old')) });
  const before = (await shell.run('leads list --json')).stdout;
  shell.save(
    'leads.ndjson',
    lines(
      lead('1', { branchId: 'north' }),
      lead('old', { firstName: 'Ada' }),
      lead('2', { email: 'x', branchId: 'west' }),
      lead('1', { firstName: 'again' }),
      { companyId: 'acme', firstName: 'Bo' },
      { companyId: 'globex', id: '1', firstName: 'Cleo' },
      { companyId: 'initech', firstName: 'Dora' },
    ),
  );
  const dry = await shell.run('leads import leads.ndjson --dry-run');
  expect((await shell.run('leads list --json')).stdout).toBe(before);
  const real = await shell.run('leads import leads.ndjson');
  expect(real).toMatchObject({ code: 1, stdout: '3 added, 2 updated, 2 rejected\n' });
  expect(dry.code).toBe(1);
  expect(dry.stdout.split('\n').slice(-2).join('\n')).toBe(real.stdout);
  expect(dry.stderr).toBe(real.stderr + NOTHING_WRITTEN);
});

test('it shows how many users get how many leads, by access level', async () => {
  const shell = await terminalWithUsers();
  const stdin = lines(
    lead('1'),
    lead('2', { branchId: 'north' }),
    lead('3', { departmentId: 'sales' }),
    lead('4', { departmentId: 'service' }),
    lead('5', { branchId: 'south' }),
    { companyId: 'globex', id: '1', firstName: 'Cleo', branchId: 'north' },
  );
  const { code, stdout, stderr } = await shell.run('leads import - --dry-run', { stdin });
  expect({ code, stderr }).toEqual({ code: 0, stderr: NOTHING_WRITTEN });
  expect(stdout).toBe(
    [
      'COMPANY  NEW LEADS  ACCESS      PLACE  USERS  LEADS FOR EACH',
      'acme     5          COMPANY     -      1      5',
      'acme     5          BRANCH      north  1      3',
      'acme     5          DEPARTMENT  sales  1      1',
      'globex   1          COMPANY     -      1      1',
      'globex   1          BRANCH      north  1      1',
      '6 added, 0 updated, 0 rejected',
      '',
    ].join('\n'),
  );
  const json = await shell.run('leads import - --dry-run --json', { stdin });
  expect(JSON.parse(json.stdout)).toMatchObject({
    ...{ dryRun: true, added: 6, updated: 0, rejected: 0 },
    deliveries: [
      {
        companyId: 'acme',
        newLeads: 5,
        audiences: [
          { accessLevel: 'COMPANY', branchId: null, departmentId: null, users: 1, leads: 5 },
          { accessLevel: 'BRANCH', branchId: 'north', departmentId: null, users: 1, leads: 3 },
          { accessLevel: 'DEPARTMENT', branchId: 'north', departmentId: 'sales', users: 1, leads: 1 },
        ],
      },
      { companyId: 'globex', newLeads: 1 },
    ],
  });
});

test('it says when no user would get the leads', async () => {
  const shell = await terminalWithUsers();
  await shell.run('user remove boss');
  const { stdout, stderr } = await shell.run('leads import - --dry-run', { stdin: lines(lead('1')) });
  expect(stdout).toContain('acme     1          -       -      0      0\n');
  expect(stderr).toBe(
    'Dry run: nothing was written. No user with the plan PROFESSIONAL would get the leads of acme.\n',
  );
});

test('updates and historical leads are delivered to no one', async () => {
  const shell = await terminalWithUsers();
  await shell.run('leads import -', { stdin: lines(lead('1')) });
  expect(await shell.run('leads import - --dry-run', { stdin: lines(lead('1')) })).toEqual({
    code: 0,
    stdout: '0 added, 1 updated, 0 rejected\n',
    stderr: 'Dry run: nothing was written. No lead is new, so none is delivered.\n',
  });
  const stdin = lines(lead('2', { createdAt: '2020-01-01' }));
  expect(await shell.run('leads import - --dry-run --historical', { stdin })).toEqual({
    code: 0,
    stdout: '1 added, 0 updated, 0 rejected\n',
    stderr: 'Dry run: nothing was written. Historical leads are not delivered as new.\n',
  });
});

test('all errors are shown', async () => {
  const shell = await terminalWithUsers();
  const stdin = lines(...Array.from({ length: 25 }, () => ({})));
  const { stderr } = await shell.run('leads import - --dry-run', { stdin });
  expect(stderr.match(/^line \d+: companyId: is required/gm)).toHaveLength(25);
});

test('an id that comes again in a later batch is an update, and no batch waits for the pace of an import', async () => {
  const shell = await terminalWithUsers();
  shell.save('leads.ndjson', lines(...Array.from({ length: 7000 }, (_, index) => lead(`${index % 6500}`))));
  const { stdout, stderr } = await shell.run('leads import leads.ndjson --dry-run');
  expect(stdout).toContain('6500 added, 500 updated, 0 rejected\n');
  expect(stderr).toBe(NOTHING_WRITTEN);
});

test('rejected lines can be kept, and --acknowledge is refused', async () => {
  const shell = await terminalWithUsers();
  const options = { stdin: `${lines(lead('1'))}oops\n` };
  await shell.run('leads import - --dry-run --rejects wrong.ndjson', options);
  expect(existsSync(shell.path('wrong.ndjson'))).toBe(true);
  expect(readFileSync(shell.path('wrong.ndjson'), 'utf8')).toBe('oops\n');
  const { code, stderr } = await shell.run('leads import - --dry-run --acknowledge', options);
  expect(code).toBe(2);
  expect(stderr).toContain("option '--acknowledge' cannot be used with option '--dry-run'");
});

test('an interrupted dry run says that nothing was written', async () => {
  const shell = await terminalWithUsers();
  shell.save('leads.ndjson', lines(lead('1')));
  const parts = { signal: AbortSignal.abort(new ExitCode(130)) };
  const { code, stderr } = await shell.run('leads import leads.ndjson --dry-run', { parts });
  expect({ code, stderr }).toEqual({
    code: 130,
    stderr: 'Interrupted. Nothing was written. Run the same command again.\n',
  });
});
