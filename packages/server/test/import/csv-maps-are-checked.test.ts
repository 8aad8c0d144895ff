import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { terminalWithUsers } from '../cli/terminal.ts';

const CONTACTS = 'Vorname;Ort;Notiz;Alt\r\nZoë;Köln;Ruft zurück;x\r\nBo;Jever;;\r\n';
const latin1 = (text: string) => Buffer.from(text, 'latin1');

async function shellWith(content: Buffer | string) {
  const shell = await terminalWithUsers();
  writeFileSync(shell.path('contacts.csv'), content);
  return shell;
}

test('rejected rows of Windows-1252 can be imported again with the same command', async () => {
  const { run, path } = await shellWith(latin1('Vorname;E-Mail\nZoë;ada\nAda;ada@example.com\n'));
  const map = ['--company', 'acme', '--map', 'Vorname=firstName', '--map', 'E-Mail=email'];
  await run(['leads', 'import', 'contacts.csv', ...map, '--rejects', 'wrong.csv']);
  expect(readFileSync(path('wrong.csv'), 'latin1')).toBe('Vorname;E-Mail\nZoë;ada\n');
  writeFileSync(
    path('fixed.csv'),
    readFileSync(path('wrong.csv'), 'latin1').replace('ada', 'zoe@example.com'),
    'latin1',
  );
  expect((await run(['leads', 'import', 'fixed.csv', ...map])).stdout).toBe(
    '1 added, 0 updated, 0 rejected\n',
  );
  expect((await run('leads list --json')).stdout).toContain('"firstName":"Zoë"');
});

test('options for CSV say that standard input and files of any name are CSV', async () => {
  const { run, save } = await shellWith('');
  const stdin = 'companyId;id;phone1\nacme;1;1\n';
  expect((await run('leads import - --separator ;', { stdin })).stdout).toBe(
    '1 added, 0 updated, 0 rejected\n',
  );
  save('leads.tsv', 'companyId\tid\tphone1\nacme\t2\t2\n');
  expect((await run('leads import leads.tsv')).stdout).toBe('1 added, 0 updated, 0 rejected\n');
});

test.each([
  [['--map', 'Vorname'], 2, 'Write COLUMN=FIELD, such as "Vorname=firstName", or auto.'],
  [
    ['--map', 'Vorname=firstNam'],
    2,
    '"Vorname=firstNam": firstNam is not a field of a lead; did you mean firstName?',
  ],
  [['--map', 'Vorname=status'], 2, 'status is set by Leadtap'],
  [['--map', 'Vorname=createdAt'], 2, 'import past leads with --historical'],
  [['--map', 'A=id', '--format', 'ndjson'], 2, '--map can only be used for CSV'],
  [['--separator', '|'], 2, 'Write "," or ";" or tab.'],
  [['--encoding', 'utf-7'], 2, 'Write utf-8, utf-16le, utf-16be, windows-1252 or latin1.'],
  [['--company', 'acm'], 1, 'there is no company acm\n'],
])('%j is refused', async (flags, code, message) => {
  const { run } = await shellWith(CONTACTS);
  const refused = await run(['leads', 'import', 'contacts.csv', ...flags]);
  expect(refused).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
});

test.each([
  ['with leads', 'Wunsch;Ort\nDach;Jever\n'],
  ['without a row', 'Wunsch;Ort\n'],
])(
  '--map auto without a name, an e-mail address and a phone number stops before the first row: %s',
  async (_name, content) => {
    const { run } = await shellWith(content);
    const line = 'leads import contacts.csv --company acme --map auto';
    for (const command of [line, `${line} --dry-run`]) {
      const { code, stdout, stderr } = await run(command);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/name.*e-mail address.*phone number|no column that --map auto knows/);
    }
    expect((await run(`${line} --map Wunsch=fullName --dry-run`)).code).toBe(0);
  },
);

test('--map auto names the columns and the option to complete', async () => {
  const { run } = await shellWith('Wunsch;Ort;PLZ\nDach;Jever;26441\n');
  const { stderr } = await run('leads import contacts.csv --company acme --map auto');
  expect(stderr).toContain('"Wunsch", "Ort"');
  expect(stderr).toContain('--map Wunsch=fullName');
  expect(stderr).toContain('--map Wunsch=customFields.Wunsch');
});
