import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { terminalWithUsers } from '../cli/terminal.ts';

const CONTACTS = 'Vorname;Ort;Notiz;Alt\r\nZoë;Köln;Ruft zurück;x\r\nBo;Jever;;\r\n';
const MAP = ['--map', 'Vorname=firstName', '--map', 'Ort=customFields.city', '--map', 'Notiz=addressNotes'];
const IMPORT = ['leads', 'import', 'contacts.csv', '--company', 'acme'];
const latin1 = (text: string) => Buffer.from(text, 'latin1');

async function shellWith(content: Buffer | string) {
  const shell = await terminalWithUsers();
  writeFileSync(shell.path('contacts.csv'), content);
  return shell;
}

test('a map is saved with --map-file, changed, and used again', async () => {
  const { run, path } = await shellWith(CONTACTS);
  const saved = () => JSON.parse(readFileSync(path('map.json'), 'utf8'));
  const bad = await run([...IMPORT, ...MAP, '--map-file', 'map.json']);
  expect(bad.code).toBe(1);
  expect(() => saved()).toThrow('ENOENT');
  const first = await run([...IMPORT, ...MAP, '--map', 'Alt=', '--map-file', 'map.json']);
  expect(first.code).toBe(0);
  expect(first.stderr).toContain('The map of the columns was saved to map.json.\n');
  expect(saved()).toEqual({ Vorname: 'firstName', Ort: 'customFields.city', Notiz: 'addressNotes', Alt: '' });
  const again = await run([...IMPORT, '--map-file', 'map.json']);
  expect(again).toMatchObject({ code: 0, stdout: '2 added, 0 updated, 0 rejected\n' });
  expect(again.stderr).not.toContain('saved');
  await run([...IMPORT, '--map-file', 'map.json', '--map', 'Alt=customFields.old', '--dry-run']);
  expect(saved()).toMatchObject({ Vorname: 'firstName', Alt: 'customFields.old' });
});

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
  [['--map-file', 'nowhere.json'], 1, 'there is no file nowhere.json'],
  [['--map-file', 'contacts.csv'], 1, 'the map file contacts.csv is not JSON'],
  [['--map-file', 'list.json'], 1, 'the map file list.json is not an object'],
  [['--map-file', 'number.json'], 1, 'number.json: the field of "A" must be a string'],
  [['--company', 'acm'], 1, 'there is no company acm\n'],
])('%j is refused', async (flags, code, message) => {
  const { run, save } = await shellWith(CONTACTS);
  save('list.json', []);
  save('number.json', { A: 1 });
  const refused = await run(['leads', 'import', 'contacts.csv', ...flags]);
  expect(refused).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
});
