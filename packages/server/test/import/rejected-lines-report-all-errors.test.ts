import { expect, onTestFinished, test } from 'vitest';
import { terminalWithUsers } from '../cli/terminal.ts';

const lines = (...records: object[]) => records.map((record) => `${JSON.stringify(record)}\n`).join('');
const lead = (id: string, rest: object = {}) => ({ companyId: 'acme', id, lastName: 'Moreau', ...rest });

test('a line is reported with all its errors, also those that only the store can find', async () => {
  const shell = await terminalWithUsers();
  const bad = [
    lead('1', { email: 'x', statusValue: 'SLEEPING', branchId: 'west' }),
    lead('2', { statusValue: 'SLEEPING', branchId: 'south', departmentId: 'sales' }),
    { companyId: 'initech', email: 'x', statusValue: 'SLEEPING' },
    { id: '4', statusValue: 'SLEEPING' },
  ];
  const { code, stdout, stderr } = await shell.run('leads import -', { stdin: lines(lead('0'), ...bad) });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '1 added, 0 updated, 4 rejected\n' });
  expect(stderr.trim().split('\n')).toEqual([
    expect.stringMatching(/^line 2: email: /),
    expect.stringMatching(/^line 2: statusValue: unknown status "SLEEPING"; use one of NEW, /),
    expect.stringMatching(/^line 2: branchId: unknown branch "west"/),
    expect.stringMatching(/^line 3: statusValue: unknown status "SLEEPING"/),
    expect.stringMatching(/^line 3: departmentId: department "sales" belongs to branch "north"/),
    expect.stringMatching(/^line 4: email: /),
    expect.stringMatching(/^line 4: companyId: unknown company "initech"/),
    expect.stringMatching(/^line 5: companyId: is required/),
  ]);
});

test('half of a surrogate pair is rejected in every text', async () => {
  const shell = await terminalWithUsers();
  const half = [
    '{"companyId":"acme","id":"1","firstName":"a\\ud800"}',
    '{"companyId":"acme","id":"\\udc00"}',
    '{"companyId":"acme","id":"3","customFields":{"note":"\\ud83d"}}',
  ];
  const { code, stdout, stderr } = await shell.run('leads import -', { stdin: half.join('\n') });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '0 added, 0 updated, 3 rejected\n' });
  expect(stderr.trim().split('\n')).toEqual([
    'line 1: firstName: "a\\ud800" contains a NUL character or half of a surrogate pair; remove it',
    'line 2: id: "\\udc00" contains a NUL character or half of a surrogate pair; remove it',
    'line 3: customFields: "\\ud83d" contains a NUL character or half of a surrogate pair; remove it',
  ]);
  const store = await (await shell.database()).openStore();
  onTestFinished(() => store.close());
  const scope = { level: 'COMPANY', companyId: 'acme' } as const;
  expect((await store.readPage({ scope, since: 0, limit: 100 })).leads).toEqual([]);
});
