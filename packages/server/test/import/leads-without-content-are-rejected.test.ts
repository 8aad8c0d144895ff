import { expect, test } from 'vitest';
import { terminalWithUsers } from '../cli/terminal.ts';

test('a new lead without content is rejected, a line that updates one is not', async () => {
  const shell = await terminalWithUsers();
  const stdin = [
    '{"companyId":"acme"}',
    '{"companyId":"acme","id":"1","statusValue":"WON"}',
    '{"companyId":"acme","id":"2","firstName":"Ada"}',
    '{"companyId":"acme","id":"2","statusValue":"WON"}',
    '{"companyId":"acme","id":"3","email":""}',
  ].join('\n');
  const dry = await shell.run('leads import - --dry-run', { stdin });
  const real = await shell.run('leads import -', { stdin });
  expect(real).toMatchObject({ code: 1, stdout: '1 added, 1 updated, 3 rejected\n' });
  expect(real.stderr.trim().split('\n')).toEqual(
    [1, 2, 5].map((line) => expect.stringContaining(`line ${line}: has no content; give at least a name, `)),
  );
  expect(dry.stdout.trim().split('\n').at(-1)).toBe('1 added, 1 updated, 3 rejected');
  const again = '{"companyId":"acme","id":"2","statusValue":"LOST"}\n';
  const update = await shell.run('leads import -', { stdin: again });
  expect(update.stdout).toBe('0 added, 1 updated, 0 rejected\n');
  expect(JSON.parse((await shell.run('leads list --json')).stdout)).toMatchObject([
    { id: '2', firstName: 'Ada', statusValue: 'LOST' },
  ]);
});

test('rows of CSV whose cells are all empty are skipped and counted', async () => {
  const shell = await terminalWithUsers();
  const stdin = 'id,firstName,email\n1,Ada,\n,,\n"",,\n,,,,\n2,Bo,\n';
  const { code, stdout, stderr } = await shell.run('leads import - --format csv --company acme', { stdin });
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: '2 added, 0 updated, 0 rejected\n',
    stderr: '3 empty rows were skipped.\n',
  });
  for (const flags of ['--json', '--dry-run --json']) {
    const json = await shell.run(`leads import - --format csv --company acme ${flags}`, { stdin });
    expect(JSON.parse(json.stdout)).toMatchObject({ updated: 2, skipped: 3 });
  }
});
