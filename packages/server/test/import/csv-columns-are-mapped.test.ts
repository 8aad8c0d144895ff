import { describe, expect, test } from 'vitest';
import { UnusableFileError } from '../../src/import/input-line.ts';
import { csv, issuesOf, leadOf, ndjson, type ReadingOptions } from './support/read-lines.ts';

const mapped = (map: Readonly<Record<string, string>>): ReadingOptions => ({
  columnMap: new Map(Object.entries(map)),
});

async function problems(content: string, options?: ReadingOptions): Promise<readonly string[]> {
  const failure = await csv(content, options).catch((error: unknown) => error);
  return failure instanceof UnusableFileError ? failure.fix : [];
}

test('columns with other names become fields, custom fields, or are ignored', async () => {
  const map = { Firma: 'companyId', Vorname: 'firstName', Notiz: 'customFields.note', Alt: '' };
  const [line] = await csv('Firma,Vorname,Notiz,Alt,id\nacme,Ada,hello,old,1\n', mapped(map));
  expect(leadOf(line)).toEqual({
    companyId: 'acme',
    id: '1',
    fields: { firstName: 'Ada', customFields: { note: 'hello' } },
  });
});

test('a column may be mapped although its name is a field', async () => {
  const [line] = await csv('companyId,id,phone1\nacme,1,x\n', mapped({ id: 'customFields.id', phone1: '' }));
  expect(leadOf(line)).toEqual({ companyId: 'acme', fields: { customFields: { id: '1' } } });
});

test('two columns for one field are refused', async () => {
  expect(await problems('companyId,Vorname,firstName\n', mapped({ Vorname: 'firstName' }))).toEqual([
    'firstName: firstName is already the field of column "Vorname"; map one of them to another field',
  ]);
});

describe('an unknown column gets the --map to add', () => {
  test.each([
    ['Vorname', '--map "Vorname=firstName"'],
    ['Prénom', '--map "Prénom=firstName"'],
    ['E-Mail', '--map "E-Mail=email"'],
    ['First Name', '--map "First Name=firstName"'],
    ['PLZ', '--map "PLZ=postalCode"'],
    ['Straße', '--map "Straße=address"'],
    ['Quelle', '--map "Quelle=customFields.Quelle"'],
    ['$x', "--map '$x=customFields.$x'"],
    ["l'$x", "--map 'l'\\''$x=customFields.l'\\''$x'"],
    ['updatedAt', '--map "updatedAt="'],
  ])('%s', async (column, flag) => {
    expect(await problems(`companyId,"${column}"\n`)).toEqual([
      expect.any(String),
      'To use the file as it is, add --map auto',
      `--map auto is short for ${flag}`,
      expect.stringMatching(/^A column that is mapped to nothing is ignored: --map .*=["']$/),
    ]);
  });

  test('all of them at once', async () => {
    expect(await problems('Vorname;Nachname;Notiz\n')).toEqual([
      'Vorname: is not a field of a lead; did you mean firstName?',
      'Nachname: is not a field of a lead; did you mean lastName?',
      'Notiz: is not a field of a lead; put it under customFields',
      'companyId: is missing; add this column, or --company ID',
      'To use the file as it is, add --map auto',
      '--map auto is short for --map "Vorname=firstName" --map "Nachname=lastName" --map "Notiz=customFields.Notiz"',
      'A column that is mapped to nothing is ignored: --map "Vorname="',
    ]);
  });
});

describe('a given company', () => {
  const options: ReadingOptions = { companyId: 'acme' };

  test('is the company of rows without one', async () => {
    const [first] = await csv('id\n1\n', options);
    expect(leadOf(first).companyId).toBe('acme');
    const lines = await csv('companyId,id\n,1\nglobex,2\n', options);
    expect(lines.map((line) => leadOf(line).companyId)).toEqual(['acme', 'globex']);
  });

  test('is the company of JSON objects without one', async () => {
    const lines = await ndjson(
      '{"id":"1"}\n{"companyId":null}\n{"companyId":"globex"}\n{"companyId":true}\n',
      options,
    );
    expect(lines.map(({ parsed }) => parsed.lead?.companyId)).toEqual(['acme', 'acme', 'globex', undefined]);
    expect(lines.map(issuesOf).at(-1)).toEqual(['companyId: must be a string, not a boolean']);
  });
});
