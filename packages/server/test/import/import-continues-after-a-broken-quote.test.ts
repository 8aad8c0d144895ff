import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { terminalWithUsers } from '../cli/terminal.ts';

const HEADER = 'companyId,id,firstName,addressNotes';

test('the command imports the good rows, and writes the line with the quote to the rejects file', async () => {
  const shell = await terminalWithUsers();
  const good = Array.from({ length: 2500 }, (_, index) => `acme,${index},,${'x'.repeat(500)}\n`);
  shell.save('leads.csv', `${HEADER}\nacme,x,"oops,\n${good.join('')}`);
  const ran = await shell.run('leads import leads.csv --rejects wrong.csv');
  expect(ran).toEqual({
    code: 1,
    stdout: '2500 added, 0 updated, 1 rejected\n',
    stderr: expect.stringMatching(/^line 2: opens a quote that is not closed within .*\n/),
  });
  expect(readFileSync(shell.path('wrong.csv'), 'utf8')).toBe(`${HEADER}\nacme,x,"oops,\n`);
});

test('lines after a broken quote are acknowledged too', async () => {
  const shell = await terminalWithUsers();
  const good = Array.from({ length: 1500 }, (_, index) => `acme,${index},Ada,\n`);
  const stdin = `${HEADER}\nacme,x,"oops,\n${good.join('')}`;
  const { stdout } = await shell.run('leads import - --format csv --acknowledge', { stdin });
  expect(stdout).toBe('committed 1001\ncommitted 1502\n1500 added, 0 updated, 1 rejected\n');
});
