import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { terminalWithUsers } from '../cli/terminal.ts';

const CSV = 'companyId,id,phone1\nacme,1,1\nacme,2,2\n';
const NDJSON = '{"companyId":"acme","id":"1","phone1":"1"}\n{"companyId":"acme","id":"2","phone1":"2"}\n';
const hex = (text: string) => Buffer.from(text, 'hex');
const utf16 = (text: string) => Buffer.from(text, 'utf16le');

test.each<[string, string | Buffer, string, string]>([
  ['leads.xlsx', hex('504b030414000600'), 'is a spreadsheet (.xlsx, .ods, .numbers) or a ZIP', 'as CSV'],
  ['leads.csv', hex('504b030414000600'), 'is a spreadsheet (.xlsx, .ods, .numbers) or a ZIP', 'Unpack'],
  ['leads.xls', hex('d0cf11e0a1b11ae10000'), 'is an old Excel workbook', 'save it as CSV'],
  ['leads.pdf', '%PDF-1.7\n', 'is a PDF', 'save it as CSV'],
  ['leads.csv', hex('89504e470d0a1a0a0000000d'), 'is UTF-16 or binary', 'Save the file as UTF-8'],
  ['leads.ndjson', utf16(NDJSON), 'is UTF-16 or binary', '--encoding utf-16le'],
  ['leads.csv', utf16(CSV).swap16(), 'is UTF-16 or binary', 'Save the file as UTF-8'],
  ['leads.ndjson', gzipSync(NDJSON), 'is compressed with gzip', '.gz'],
  ['leads.html', '<!DOCTYPE html>\n<title>Sign in</title>\n', 'is XML or HTML', 'NDJSON, JSON or CSV'],
  ['organisation.json', '{\n  "companies": [\n', 'looks like an organisation file', '`leadtap org apply`'],
  ['leads.txt', CSV, 'is not JSON', 'add --format csv'],
  ['letter.txt', 'Dear reader,\n', 'is not JSON', 'Export the leads as NDJSON, JSON or CSV'],
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
  expect((await shell.run('leads list --json')).stdout).toBe('[]\n');
});
