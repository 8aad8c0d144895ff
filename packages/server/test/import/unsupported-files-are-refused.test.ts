import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { terminalWithUsers } from '../cli/terminal.ts';

const CSV = 'companyId,id,phone1\nacme,1,1\nacme,2,2\n';
const NDJSON = '{"companyId":"acme","id":"1","phone1":"1"}\n{"companyId":"acme","id":"2","phone1":"2"}\n';
const hex = (text: string) => Buffer.from(text, 'hex');
/** The names of the files in an archive, each before its data. */
const zip = (...names: string[]) =>
  Buffer.concat(
    names.flatMap((name) => [hex('504b0304140006000800000021'), Buffer.from(name), hex('00ff00')]),
  );
const OLD_EXCEL = Buffer.from('d0cf11e0a1b11ae10000', 'hex');
const utf16 = (text: string) => Buffer.from(text, 'utf16le');
const bigEndian = (text: string) => utf16(text).swap16();

test.each<[string, string | Buffer, string, string]>([
  [
    'leads.xlsx',
    zip('[Content_Types].xml', 'xl/workbook.xml'),
    'is an Excel workbook (.xlsx)',
    'save it as CSV',
  ],
  [
    'leads.csv',
    zip('[Content_Types].xml', 'xl/workbook.xml'),
    'is an Excel workbook (.xlsx)',
    'save it as CSV',
  ],
  ['leads.csv', CSV.replaceAll('\n', '\r'), 'has line breaks that', "tr '\\r' '\\n' < FILE"],
  ['leads.csv', CSV.replaceAll(',', '|'), 'has a header row', "tr '|' '\\t' < FILE"],
  ['leads.numbers', zip('Index/Document.iwa'), 'is a Numbers spreadsheet', 'save it as CSV'],
  [
    'leads.ods',
    zip('mimetypeapplication/vnd.oasis.opendocument.spreadsheet'),
    'is an OpenDocument file',
    'CSV',
  ],
  ['leads.zip', zip('leads.csv'), 'is a ZIP archive', 'Unpack it first'],
  ['leads.7z', hex('377abcaf271c0004'), 'is an archive', 'Unpack it first'],
  ['leads.csv.bz2', hex('425a6839314159'), 'is an archive', 'Unpack it first'],
  ['leads.tar', `${'leads.csv'.padEnd(257, '\0')}ustar\0`, 'is a tar archive', 'Unpack it first'],
  ['leads.csv', hex('89504e470d0a1a0a0000000d'), 'is an image', 'Export them as NDJSON, JSON or CSV'],
  ['photo.jpg', hex('ffd8ffe000104a464946'), 'is an image', 'Export them as NDJSON, JSON or CSV'],
  ['leads.ndjson', 'RIFF\x01\x02\x03\x04WEBPVP8 ', 'is an image', 'Export them as NDJSON, JSON or CSV'],
  ['leads.xls', OLD_EXCEL, 'is an old Excel workbook', 'save it as CSV'],
  ['leads.pdf', '%PDF-1.7\n', 'is a PDF', 'save it as CSV'],
  ['leads.ndjson', utf16(NDJSON), 'is UTF-16 or binary', '--encoding utf-16le'],
  ['leads.csv', bigEndian(CSV), 'is UTF-16 or binary', 'Save the file as UTF-8'],
  ['leads.ndjson', gzipSync(NDJSON), 'is compressed with gzip', '.gz'],
  ['leads.html', '<!DOCTYPE html>\n<title>Sign in</title>\n', 'is XML or HTML', 'NDJSON, JSON or CSV'],
  ['organisation.json', '{\n  "companies": [\n', 'looks like an organisation file', '`leadtap org apply`'],
  ['leads.txt', CSV, 'looks like CSV', 'Add --format csv'],
  [
    'leads.csv.gz',
    CSV,
    'is not compressed with gzip, although its name ends in .gz',
    'Remove .gz from its name',
  ],
  ['leads.ndjson.gz', NDJSON, 'is not compressed with gzip', 'Remove .gz from its name'],
])('%s with %o', async (name, content, message, hint) => {
  const shell = await terminalWithUsers();
  writeFileSync(shell.path(name), content);
  const { code, stdout, stderr } = await shell.run(`leads import ${name}`);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  const [first, second, ...others] = stderr.trim().split('\n');
  expect(first).toMatch(/; nothing was imported$/);
  expect(first).toContain(`leadtap: ${name} ${message}`);
  expect(second).toContain(hint);
  expect(others).toEqual([]);
  expect((await shell.run('leads import -', { stdin: NDJSON })).stdout).toBe(
    '2 added, 0 updated, 0 rejected\n',
  );
});

test('a file in which no line is JSON gets one message', async () => {
  const shell = await terminalWithUsers();
  shell.save('leads.txt', 'Dear reader,\n'.repeat(3000));
  const { code, stdout, stderr } = await shell.run('leads import leads.txt');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '0 added, 0 updated, 3000 rejected\n' });
  expect(stderr).toMatch(/^No line of leads\.txt is JSON\. Export the leads as [^\n]*\n$/);
});

test('a file in which one line is JSON gets a message for each other line', async () => {
  const shell = await terminalWithUsers();
  shell.save('leads.txt', `Dear reader,\nhow are you?\n${NDJSON}`);
  const { stdout, stderr } = await shell.run('leads import leads.txt');
  expect(stdout).toBe('2 added, 0 updated, 2 rejected\n');
  expect(stderr).toMatch(/^line 1: is not JSON.*\nline 2: is not JSON.*\n$/);
});
