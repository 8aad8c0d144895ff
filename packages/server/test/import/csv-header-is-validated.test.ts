import { describe, expect, test } from 'vitest';
import { FileFacts, UnusableFileError } from '../../src/import/input-line.ts';
import { csv, issuesOf, leadOf, type ReadingOptions } from './support/read-lines.ts';

async function headerProblems(content: string, options?: ReadingOptions): Promise<readonly string[]> {
  const failure = await csv(content, options).catch((error: unknown) => error);
  return failure instanceof UnusableFileError ? failure.fix : [];
}

const mapped = (map: Readonly<Record<string, string>>): ReadingOptions => ({
  columnMap: new Map(Object.entries(map)),
});

const REMOVE_ONE = 'remove one of the two columns, or add --map auto to keep it as a custom field';
const OWN_COLUMN = 'give each custom field a column of its own, such as customFields.source';
const AUTO = 'To use the file as it is, add --map auto';

test.each([
  ['id,email', ['companyId: is missing; add this column, or --company ID']],
  ['companyId,id,id', [`id: is there twice; ${REMOVE_ONE}`]],
  ['companyId,customFields.a,customFields.a', [`customFields.a: is there twice; ${REMOVE_ONE}`]],
  ['companyId,', ['"column 2": has no name; name it or remove it', AUTO]],
  ['companyId,customFields', [`customFields: ${OWN_COLUMN}`]],
  ['companyId,customFields.', [`customFields.: ${OWN_COLUMN}`]],
  ['companyId,"id', [expect.stringMatching(/^It opens a quote that is not closed/)]],
  [
    'companyId,createdAt',
    [
      'createdAt: is set by Leadtap for new leads; remove it, or import past leads with --historical',
      AUTO,
      '--map auto is short for --map createdAt=',
    ],
  ],
  [
    'Vorname;Nachname;Notiz',
    [
      'Vorname: is not a field of a lead; did you mean firstName?',
      'Nachname: is not a field of a lead; did you mean lastName?',
      'Notiz: is not a field of a lead; put it under customFields',
      'companyId: is missing; add this column, or --company ID',
      AUTO,
      '--map auto is short for --map Vorname=firstName --map Nachname=lastName --map Notiz=customFields.Notiz',
    ],
  ],
])('%s is refused with all its errors', async (header, problems) => {
  expect(await headerProblems(`${header}\nacme,1\n`)).toEqual(problems);
});

test.each([
  ['Prénom', "'Prénom=firstName'"],
  ['E-Mail', 'E-Mail=email'],
  ['e_mail', 'e_mail=email'],
  ['First Name', "'First Name=firstName'"],
  ['PLZ', 'PLZ=postalCode'],
  ['Straße', "'Straße=address'"],
  ["l'$x", "'l'\\''$x=customFields.l'\\''$x'"],
  ['updatedAt', 'updatedAt='],
])('the column %s gets the --map to add, quoted for a shell', async (column, flag) => {
  expect((await headerProblems(`companyId,"${column}"\n`)).slice(1)).toEqual([
    AUTO,
    `--map auto is short for --map ${flag}`,
  ]);
});

test('an empty file is refused', async () => {
  await expect(csv('')).rejects.toMatchObject({ message: 'is empty' });
  await expect(csv('\n\n')).rejects.toThrow(UnusableFileError);
});

test('createdAt is a column of historical imports', async () => {
  expect(await headerProblems('companyId,id\n', { historical: true })).toEqual([
    'createdAt: is missing; add this column',
  ]);
  const [line] = await csv('companyId,createdAt\nacme,2026-01-01\n', { historical: true });
  expect(leadOf(line).createdAt).toBe(Date.UTC(2026, 0, 1));
});

test('the header is kept unchanged, for the rejects file', async () => {
  const facts = new FileFacts('leads.csv');
  await csv('\uFEFF\n"companyId",id\r\nacme,1\r\n', { facts });
  expect(String(facts.header)).toBe('"companyId",id\r');
});

describe('a map', () => {
  test('makes columns fields or custom fields, or ignores them, also those that have the name of a field', async () => {
    const map = { Firma: 'companyId', Vorname: 'firstName', Notiz: 'customFields.note', Alt: '', phone1: '' };
    const [line] = await csv('Firma,VORNAME,Notiz,Alt,phone1,Id\nacme,Ada,hello,old,x,1\n', mapped(map));
    expect(leadOf(line)).toEqual({
      companyId: 'acme',
      id: '1',
      fields: { firstName: 'Ada', customFields: { note: 'hello' } },
    });
  });

  test('with two columns for one field is refused', async () => {
    expect(await headerProblems('companyId,Vorname,firstName\n', mapped({ Vorname: 'firstName' }))).toEqual([
      'firstName: firstName is already the field of column "Vorname"; map one of them to another field',
    ]);
  });
});

test('a given company is that of rows without one', async () => {
  const lines = await csv('companyId,id\n,1\nglobex,2\n', { companyId: 'acme' });
  expect(lines.map((line) => leadOf(line).companyId)).toEqual(['acme', 'globex']);
  const [first] = await csv('id\n1\n', { companyId: 'acme' });
  expect(leadOf(first).companyId).toBe('acme');
});

describe('cells are converted to values', () => {
  test.each([
    ['firstName', '', null],
    ['postalCode', '01234', '01234'],
    ['timeslot', '', null],
    ['appointmentDateTime', '', null],
    ['images', 'https://a.example/1 | https://a.example/2', ['https://a.example/1', 'https://a.example/2']],
    ['images', '', []],
    ['sameDay', 'TRUE', true],
    ['sameDay', 'yes', true],
    ['sameDay', '1', true],
    ['sameDay', 'No', false],
    ['sameDay', '', false],
  ])('%s "%s"', async (column, cell, value) => {
    const [line] = await csv(`companyId,${column}\nacme,${cell}\n`);
    expect(leadOf(line).fields).toEqual({ [column]: value });
  });

  test('an empty cell clears the branch, but not the id or the status', async () => {
    const [line] = await csv('companyId,id,statusValue,branchId\nacme,,,\n');
    expect(leadOf(line)).toEqual({ companyId: 'acme', branchId: null, fields: {} });
  });

  test('custom fields are collected, and empty ones left out', async () => {
    const header = 'companyId,customFields.source,customFields.a.b,customFields.empty,customFields.__proto__';
    const [line] = await csv(`${header}\nacme,web,1,,x\n`);
    expect(Object.entries(leadOf(line).fields.customFields ?? {})).toEqual([
      ['source', 'web'],
      ['a.b', '1'],
      ['__proto__', 'x'],
    ]);
  });

  test('invalid values have the same messages as in NDJSON', async () => {
    const [line] = await csv('companyId,email,sameDay\n,ada,maybe\n');
    expect(line && issuesOf(line)).toEqual([
      'companyId: is required; add it',
      expect.stringContaining('email: "ada"'),
      'sameDay: must be true or false (in CSV and forms also yes, no, on, off, 1 or 0)',
    ]);
  });
});
