import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { terminalWithUsers } from '../cli/terminal.ts';

const LEADS = [
  { companyId: 'acme', id: '1', firstName: 'Ada "the } first", ]' },
  { companyId: 'acme', id: '2', customFields: { tags: ['a', { b: '\\' }], note: 'line\nbreak' } },
  { companyId: 'acme', id: '3', firstName: 'Bo' },
];

describe('every layout of the same leads is imported', () => {
  test.each([
    ['an array on one line', JSON.stringify(LEADS)],
    ['an array with a lead on each line', `[\n${LEADS.map((lead) => JSON.stringify(lead)).join(',\n')}\n]\n`],
    ['an array with Windows line breaks', JSON.stringify(LEADS, undefined, 2).replaceAll('\n', '\r\n')],
    ['an array after a byte order mark', `\uFEFF\n \n${JSON.stringify(LEADS, undefined, 4)}\n`],
    ['NDJSON', LEADS.map((lead) => JSON.stringify(lead)).join('\n')],
  ])('%s', async (_layout, stdin) => {
    const shell = await terminalWithUsers();
    const { stdout, stderr } = await shell.run('leads import - --acknowledge', { stdin });
    expect({ stdout, stderr }).toEqual({
      stdout: 'committed 3\n3 added, 0 updated, 0 rejected\n',
      stderr: '',
    });
    const listed = JSON.parse((await shell.run('leads list --since 1970-01-01 --json')).stdout);
    expect(listed).toMatchObject(LEADS);
  });

  test('one object, and an empty array', async () => {
    const shell = await terminalWithUsers();
    const stdin = JSON.stringify(LEADS[1], undefined, 2);
    expect((await shell.run('leads import -', { stdin })).stdout).toBe('1 added, 0 updated, 0 rejected\n');
    const oneLine = { stdin: JSON.stringify(LEADS[1]) };
    expect((await shell.run('leads import - --format json', oneLine)).stdout).toBe(
      '0 added, 1 updated, 0 rejected\n',
    );
    expect((await shell.run('leads import -', { stdin: '[\n]\n' })).stdout).toBe(
      '0 added, 0 updated, 0 rejected\n',
    );
  });
});

test('rejected items are reported with their number, and kept as NDJSON; --skip-lines counts items', async () => {
  const shell = await terminalWithUsers();
  const items = [LEADS[0], { companyId: 'acme', id: '9', email: 'x' }, 7, [LEADS[2]], LEADS[1]];
  shell.save('leads.json', JSON.stringify(items, undefined, 2));
  const { code, stdout, stderr } = await shell.run('leads import leads.json --rejects wrong.ndjson');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '2 added, 0 updated, 3 rejected\n' });
  expect(stderr.trim().split('\n')).toEqual([
    expect.stringMatching(/^item 2: email: "x" is not an e-mail address/),
    expect.stringMatching(/^item 3: is JSON, but not an object/),
    expect.stringMatching(/^item 4: is JSON, but not an object/),
  ]);
  expect(readFileSync(shell.path('wrong.ndjson'), 'utf8')).toBe(
    items
      .slice(1, 4)
      .map((item) => `${JSON.stringify(item)}\n`)
      .join(''),
  );
  expect((await shell.run('leads import leads.json --skip-lines 4')).stdout).toBe(
    '0 added, 1 updated, 0 rejected\n',
  );
});

test('a broken document is refused as a whole, with the line of the error', async () => {
  const shell = await terminalWithUsers();
  const stdin = '[\n{"companyId":"acme","id":"1","phone1":"1"},\n{"companyId":"acme","id":"2}\n]\n';
  const { code, stdout, stderr } = await shell.run('leads import -', { stdin });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^leadtap: standard input is not JSON \(line 3\); nothing was imported\n/);
});
