import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { ExitCode } from '../../src/cli/exit.ts';
import { terminalWithUsers } from '../cli/terminal.ts';

const QUESTION = 'Import them as new leads? [y/N] ';

const leads = (count: number, rest: object = {}) =>
  Array.from({ length: count }, (_, index) =>
    JSON.stringify({ companyId: 'acme', id: `${index}`, firstName: 'Ada', ...rest }),
  )
    .join('\n')
    .concat('\n');

/** Someone at a terminal, who types this. */
const typed = (text: string) => ({
  isTTY: true,
  parts: { stdin: Object.assign(Readable.from(text === '' ? [] : [text]), { isTTY: true }) },
});

async function shellWith(content: string) {
  const shell = await terminalWithUsers();
  shell.save('leads.ndjson', content);
  return shell;
}

test('after the answer yes, they are imported', async () => {
  const { run } = await shellWith(leads(1001));
  const { code, stdout, stderr } = await run('leads import leads.ndjson', typed('y\n'));
  expect({ code, stdout }).toEqual({ code: 0, stdout: '1001 added, 0 updated, 0 rejected\n' });
  expect(stderr).toContain(
    'leads.ndjson has more than 1,000 leads. Every automation that polls will run for each new lead among them.\n',
  );
  expect(stderr).toContain('--historical');
  expect(stderr).toContain(QUESTION);
});

test.each(['n\n', ''])('after %j, nothing is imported', async (answer) => {
  const { run } = await shellWith(leads(1001));
  const { code, stdout, stderr } = await run('leads import leads.ndjson', typed(answer));
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/Nothing was imported\.\n$/);
  expect((await run('leads list --json')).stdout).toBe('[]\n');
});

test.each([
  ['up to 1,000 valid leads', `${leads(1000)}${'{}\n'.repeat(500)}`, ''],
  ['leads that are skipped', leads(1001), '--skip-lines 1'],
  ['--yes', leads(1001), '--yes'],
  ['historical leads', leads(1001, { createdAt: '2020-01-01' }), '--historical'],
])('%s: no question', async (_case, content, flags) => {
  const { run } = await shellWith(content);
  const { stdout, stderr } = await run(`leads import leads.ndjson ${flags}`.trim(), typed('n\n'));
  expect(stderr).not.toContain(QUESTION);
  expect(stdout).toMatch(/^100[01] added/m);
});

test('programs and pipes are not asked', async () => {
  const { run } = await shellWith(leads(1001));
  const fromProgram = await run('leads import leads.ndjson', { stdin: 'n\n' });
  expect(fromProgram).toEqual({ code: 0, stdout: '1001 added, 0 updated, 0 rejected\n', stderr: '' });
  const piped = await run('leads import -', { isTTY: true, stdin: leads(1001) });
  expect(piped.stderr).not.toContain(QUESTION);
  expect(piped.stdout).toBe('0 added, 1001 updated, 0 rejected\n');
  const typedIn = await run('leads import -', typed(leads(1001)));
  expect(typedIn.stderr).not.toContain(QUESTION);
});

test('an error in the file is reported without a question', async () => {
  const { run, save } = await shellWith('');
  save('leads.csv', 'companyId,unknown\n');
  const { code, stderr } = await run('leads import leads.csv', typed('y\n'));
  expect(code).toBe(1);
  expect(stderr).toMatch(/^leadtap: leads\.csv has a header row that cannot be used/);
});

test('Ctrl+C at the question stops the command', async () => {
  const { run } = await shellWith(leads(1001));
  const stop = new AbortController();
  const stdin = Object.assign(new Readable({ read: () => stop.abort(new ExitCode(130)) }), { isTTY: true });
  const { code, stdout } = await run('leads import leads.ndjson', {
    isTTY: true,
    parts: { stdin, signal: stop.signal },
  });
  expect({ code, stdout }).toEqual({ code: 130, stdout: '0 added, 0 updated, 0 rejected\n' });
  expect((await run('leads list --json')).stdout).toBe('[]\n');
});
