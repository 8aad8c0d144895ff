import { describe, expect, test } from 'vitest';
import { UnusableFileError } from '../../src/import/input-line.ts';
import { csv, issuesOf, leadOf, type ReadingOptions } from './support/read-lines.ts';

async function headerProblems(header: string, options?: ReadingOptions): Promise<readonly string[]> {
  const failure = await csv(`${header}\nacme,1\n`, options).catch((error: unknown) => error);
  return failure instanceof UnusableFileError ? failure.fix : [];
}

const REMOVE_ONE = 'remove one of the two columns, or add --map auto to keep it as a custom field';

describe('a header is refused with all its errors', () => {
  test.each([
    ['id,email', ['companyId: is missing; add this column, or --company ID']],
    ['companyId,id,id', [`id: is there twice; ${REMOVE_ONE}`]],
    [
      'companyId,e_mail',
      [
        'e_mail: is not a field of a lead; did you mean email?',
        'To use the file as it is, add --map auto',
        '--map auto is short for --map "e_mail=email"',
        'A column that is mapped to nothing is ignored: --map "e_mail="',
      ],
    ],
    [
      'companyId,budget',
      [
        'budget: is not a field of a lead; put it under customFields',
        'To use the file as it is, add --map auto',
        '--map auto is short for --map "budget=customFields.budget"',
        'A column that is mapped to nothing is ignored: --map "budget="',
      ],
    ],
    [
      'companyId,status',
      [
        'status: is not a field of a lead; put it under customFields',
        'To use the file as it is, add --map auto',
        '--map auto is short for --map "status=customFields.status"',
        'A column that is mapped to nothing is ignored: --map "status="',
      ],
    ],
    [
      'companyId,',
      ['"column 2": has no name; name it or remove it', 'To use the file as it is, add --map auto'],
    ],
    [
      'companyId,customFields',
      ['customFields: give each custom field a column of its own, such as customFields.source'],
    ],
    [
      'companyId,customFields.',
      ['customFields.: give each custom field a column of its own, such as customFields.source'],
    ],
    ['companyId,customFields.a,customFields.a', [`customFields.a: is there twice; ${REMOVE_ONE}`]],
    [
      'companyId,"id',
      [
        'It opens a quote that is never closed; close it at the end of the cell, and write a quote inside the cell as "".',
      ],
    ],
  ])('%s', async (header, problems) => {
    expect(await headerProblems(header)).toEqual(problems);
  });

  test('every problem at once', async () => {
    expect(await headerProblems('firstNam,phone1,phone1,createdAt')).toHaveLength(4 + 3);
  });

  test('an empty file', async () => {
    await expect(csv('')).rejects.toMatchObject({ message: 'is empty' });
    await expect(csv('\n\n')).rejects.toThrow(UnusableFileError);
  });
});

test('createdAt is a column of historical imports only', async () => {
  expect(await headerProblems('companyId,createdAt')).toEqual([
    expect.stringContaining('import past leads with --historical'),
    'To use the file as it is, add --map auto',
    expect.stringContaining('--map "createdAt="'),
    expect.stringContaining('--map "createdAt="'),
  ]);
  expect(await headerProblems('companyId,id', { historical: true })).toEqual([
    'createdAt: is missing; add this column',
  ]);
  const [line] = await csv('companyId,createdAt\nacme,2026-01-01\n', { historical: true });
  expect(leadOf(line).createdAt).toBe(Date.UTC(2026, 0, 1));
});

test('the header is passed on unchanged', async () => {
  const headers: string[] = [];
  await csv('\uFEFF\n"companyId",id\r\nacme,1\r\n', { onHeader: (raw) => headers.push(raw.toString()) });
  expect(headers).toEqual(['"companyId",id\r']);
});

describe('cells are converted to values', () => {
  const read = async (column: string, cell: string) => {
    const [line] = await csv(`companyId,${column}\nacme,${cell}\n`);
    if (line === undefined) throw new Error('no line');
    return line;
  };

  test.each([
    ['firstName', 'Ada', 'Ada'],
    ['firstName', '', null],
    ['postalCode', '01234', '01234'],
    ['timeslot', '', null],
    ['appointmentDateTime', '', null],
    ['images', 'https://a.example/1|https://a.example/2', ['https://a.example/1', 'https://a.example/2']],
    ['images', 'https://a.example/1 | https://a.example/2', ['https://a.example/1', 'https://a.example/2']],
    ['images', '', []],
    ['sameDay', 'true', true],
    ['sameDay', 'TRUE', true],
    ['sameDay', 'yes', true],
    ['sameDay', '1', true],
    ['sameDay', 'false', false],
    ['sameDay', 'No', false],
    ['sameDay', '0', false],
    ['sameDay', '', false],
  ])('%s "%s"', async (column, cell, value) => {
    expect(leadOf(await read(column, cell)).fields).toEqual({ [column]: value });
  });

  test.each([
    ['companyId,id', 'acme,', { companyId: 'acme', fields: {} }],
    ['companyId,statusValue', 'acme,', { companyId: 'acme', fields: {} }],
    ['companyId,branchId', 'acme,', { companyId: 'acme', branchId: null, fields: {} }],
  ])('an empty cell of %s', async (header, row, lead) => {
    const [line] = await csv(`${header}\n${row}\n`);
    expect(leadOf(line)).toEqual(lead);
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
    expect(issuesOf(await read('sameDay', 'maybe'))).toEqual([
      'sameDay: must be true or false (in CSV and forms also yes, no, on, off, 1 or 0)',
    ]);
    const [line] = await csv('companyId,email\n,ada\n');
    expect(line && issuesOf(line)).toEqual([
      'companyId: is required; add it',
      expect.stringContaining('email: "ada"'),
    ]);
  });
});
