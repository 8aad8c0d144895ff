import { IMPORT_FIELDS, LEAD_FIELDS } from '@leadtap/contract';
import { describe, expect, test } from 'vitest';
import { issuesOf, leadOf, ndjson, type ReadingOptions } from './support/read-lines.ts';

async function read(record: object, options?: ReadingOptions) {
  const [line] = await ndjson(JSON.stringify({ companyId: 'acme', ...record }), options);
  if (line === undefined) throw new Error('no line');
  return line;
}

const url = (length: number) => 'https://example.com/'.padEnd(length, 'x');
const nested = (levels: number): string => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`;

describe('accepted', () => {
  test.each([
    ['firstName', 'x'.repeat(1000)],
    ['addressNotes', 'two\nlines'],
    ['addressNotes', 'x'.repeat(10_000)],
    ['email', 'ada@localhost'],
    ['email', `${'a'.repeat(300)}@${'b'.repeat(19)}`],
    ['timeslot', '00:00'],
    ['images', Array.from({ length: 50 }, () => url(2048))],
    ['customFields', { 'any key': [1, null, { deep: true }], text: '\u00e9\u{1f600}' }],
    ['customFields', { a: 'x'.repeat(64 * 1024 - '{"a":""}'.length) }],
    ['customFields', JSON.parse(nested(100))],
    [
      'customFields',
      { most: Number.MAX_SAFE_INTEGER, least: Number.MIN_SAFE_INTEGER, part: 0.1, none: null },
    ],
    ['sameDay', true],
  ])('%s %#', async (field, value) => {
    expect(leadOf(await read({ [field]: value })).fields).toEqual({ [field]: value });
  });

  test('texts without the spaces around them; nothing but spaces is null', async () => {
    const given = {
      firstName: ' Ada ',
      fullName: '\u00a0Ada  Moreau\n',
      phone1: ' 1 2',
      lastName: ' \u200b',
    };
    expect(leadOf(await read(given)).fields).toEqual({
      ...{ firstName: 'Ada', fullName: 'Ada  Moreau', phone1: '1 2', lastName: null },
    });
  });

  test('every field at once', async () => {
    const fields = {
      firstName: 'Ada',
      lastName: 'Moreau',
      fullName: 'Ada Moreau',
      phone1: '1',
      phone2: '2',
      email: 'ada@example.com',
      address: '12 Rue des Lilas',
      postalCode: '69003',
      addressNotes: 'blue door',
      timeslot: '14:00',
      customFields: { source: 'web' },
      images: ['https://example.com/a.jpg'],
      sameDay: false,
    };
    const placement = { id: '4711', branchId: 'north', departmentId: 'sales', statusValue: 'IN_WORK_2' };
    const line = await read({ ...fields, ...placement, appointmentDateTime: '2026-03-05T15:00:00+01:00' });
    expect(leadOf(line)).toEqual({
      companyId: 'acme',
      ...placement,
      fields: { ...fields, appointmentDateTime: Date.parse('2026-03-05T14:00:00Z') },
    });
  });

  test.each(IMPORT_FIELDS.filter((field) => field.import.historicalOnly !== true))(
    '$name, a field of the table, by its type',
    async ({ name }) => {
      const sample = LEAD_FIELDS.find((field) => field.name === name)?.sample ?? 'x';
      expect(issuesOf(await read({ [name]: sample }))).toEqual([]);
      expect(issuesOf(await read({ [name]: [Number.MAX_VALUE] }))).toHaveLength(1);
    },
  );

  test('null clears a field to null or to its default', async () => {
    const nulls = {
      email: null,
      timeslot: null,
      appointmentDateTime: null,
      branchId: null,
      departmentId: null,
    };
    expect(leadOf(await read({ ...nulls, customFields: null, images: null, sameDay: null }))).toEqual({
      companyId: 'acme',
      branchId: null,
      departmentId: null,
      fields: {
        email: null,
        timeslot: null,
        appointmentDateTime: null,
        customFields: {},
        images: [],
        sameDay: false,
      },
    });
  });

  test('an empty text means the same as an empty cell', async () => {
    const empty = {
      email: '',
      appointmentDateTime: '',
      images: '',
      sameDay: '',
      customFields: { source: '', a: 0 },
    };
    const lead = leadOf(await read({ id: '', statusValue: '', branchId: '', firstName: '', ...empty }));
    expect(lead).toEqual({
      companyId: 'acme',
      branchId: null,
      fields: {
        ...{ firstName: null, email: null, appointmentDateTime: null, images: [], sameDay: false },
        customFields: { a: 0 },
      },
    });
    expect(leadOf(await read({ email: ' ', customFields: '' })).fields).toEqual({
      email: null,
      customFields: {},
    });
  });

  test('a number counts as text', async () => {
    const { id, fields } = leadOf(
      await read({ id: 4711, phone1: 33170189900, postalCode: 69003, firstName: 1.5 }),
    );
    expect({ id, ...fields }).toEqual({
      id: '4711',
      phone1: '33170189900',
      postalCode: '69003',
      firstName: '1.5',
    });
  });

  test('spaces around an e-mail address are removed', async () => {
    expect(leadOf(await read({ email: ' \tada@example.com\n' })).fields).toEqual({
      email: 'ada@example.com',
    });
  });

  test('customFields.x is a custom field, beside those of an object', async () => {
    const custom = { 'customFields.a.b': [1], 'customFields.empty': '', customFields: { source: 'web' } };
    expect(leadOf(await read(custom)).fields).toEqual({ customFields: { source: 'web', 'a.b': [1] } });
    expect(leadOf(await read({ 'customFields.x': true })).fields).toEqual({ customFields: { x: true } });
    expect(issuesOf(await read({ 'customFields.a': 1, customFields: { a: 2 } }))).toEqual([
      'customFields.a: is there twice; send it once',
    ]);
    expect(issuesOf(await read({ 'customFields.': 1 }))[0]).toMatch(/give each custom field a name/);
  });

  test('whole surrogate pairs are kept', async () => {
    const [line] = await ndjson('{"companyId":"acme","firstName":"a\\ud83d\\ude00b"}');
    expect(leadOf(line).fields.firstName).toBe('a😀b');
  });
});

describe('rejected', () => {
  test.each([
    ['companyId', null, 'is required; add it'],
    ['companyId', '', 'is required; add it'],
    ['companyId', 'a\nb', 'is not an id'],
    ['id', 2 ** 53, 'is too large to be stored exactly; write it as a string'],
    ['id', 'a\u202eb', 'is not an id'],
    ['id', 'a\u0007b', 'is not an id'],
    ['id', 'x'.repeat(201), 'has 201 characters; shorten it to at most 200'],
    ['firstName', 'x'.repeat(1001), 'has 1,001 characters; shorten it to at most 1,000'],
    ['firstName', ['Ada'], 'must be a string, not an array'],
    ['firstName', true, 'must be a string, not a boolean'],
    [
      'phone1',
      '5.55E+09',
      'is a number that a spreadsheet has shortened, and its digits are lost; format the column as text there, enter the numbers again, and save the file again',
    ],
    ['phone1', 'a\u0000b', '"a\\u0000b" contains a NUL character or half of a surrogate pair; remove it'],
    ['firstName', 'a\ud800b', '"a\\ud800b" contains a NUL character or half of a surrogate pair; remove it'],
    [
      'customFields',
      { deep: [{ text: 'a\u0000b' }] },
      '"a\\u0000b" contains a NUL character or half of a surrogate pair; remove it',
    ],
    ['addressNotes', 'x'.repeat(10_001), 'at most 10,000'],
    ['email', 'ada', '"ada" is not an e-mail address; write it like ada@example.com'],
    ['email', 'a@b@c', 'is not an e-mail address'],
    ['email', `${'a'.repeat(300)}@${'b'.repeat(20)}`, 'at most 320'],
    [
      'appointmentDateTime',
      '2026-02-30',
      '"2026-02-30" is not a time; write ISO 8601, such as 2026-03-05T14:00:00Z',
    ],
    ['appointmentDateTime', 1767225600000, 'must be a string, not a number'],
    ['timeslot', '24:00', '"24:00" is not a time of day; write HH:MM, from 00:00 to 23:59'],
    ['timeslot', '9:30', 'is not a time of day'],
    ['statusValue', 'X'.repeat(65), 'at most 64'],
    ['images', 'https://example.com', 'must be an array of web addresses, not a string'],
    ['images', Array.from({ length: 51 }, () => url(30)), 'has 51 entries; keep at most 50'],
    ['images', [url(30), 'ftp://example.com'], 'entry 2: "ftp://example.com" is not a web address'],
    ['images', ['https://exa mple.com'], 'entry 1: "https://exa mple.com" is not a web address'],
    ['images', ['https://'], 'entry 1: "https://" is not a web address'],
    ['images', [url(2049)], 'entry 1: has 2,049 characters'],
    ['customFields', [], 'must be an object, not an array'],
    [
      'customFields',
      { a: 'x'.repeat(64 * 1024) },
      'takes 65,544 bytes as JSON; shorten it to at most 65,536',
    ],
    ['sameDay', 'true', 'must be true or false'],
    ['companyName', 'x', 'is set by Leadtap; remove it'],
  ])('%s %#', async (field, value, issue) => {
    const problems = issuesOf(await read({ [field]: value }));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(new RegExp(`^${field}: `));
    expect(problems[0]).toContain(issue);
  });

  test.each([
    ['{"order":12345678901234567890}', 'order'],
    ['{"order":-9007199254740992}', 'order'],
    ['{"a":{"b":[1,1e999]}}', 'a.b.1'],
  ])('customFields %s, whose number would be rounded', async (json, name) => {
    const [line] = await ndjson(`{"companyId":"acme","customFields":${json}}`);
    expect(line && issuesOf(line)).toEqual([
      `customFields: "${name}" is too large to be stored exactly; write it as a string`,
    ]);
  });

  test.each([101, 50_000])('customFields of %i levels, which could not be rendered', async (levels) => {
    const [line] = await ndjson(`{"companyId":"acme","customFields":${nested(levels)}}`);
    expect(line && issuesOf(line)).toEqual(['customFields: is nested deeper than 100 levels; flatten it']);
  });

  test.each([
    ['first_name', 'did you mean firstName?'],
    ['Email', 'did you mean email?'],
    ['lastNmae', 'did you mean lastName?'],
    ['phone', 'did you mean phone1?'],
    ['zip', 'did you mean postalCode?'],
    ['number', 'put it under customFields'],
    ['company_id', 'did you mean companyId?'],
    ['created_at', 'did you mean createdAt?'],
    ['budget', 'put it under customFields'],
    ['__proto__', 'put it under customFields'],
    ['x'.repeat(5000), 'put it under customFields'],
  ])('the unknown field %s', async (field, issue) => {
    const [line] = await ndjson(`{"companyId":"acme","${field}":1}`);
    expect(line && issuesOf(line)).toEqual([`${field}: is not a field of a lead; ${issue}`]);
  });

  test('with all issues at once', async () => {
    const [line] = await ndjson('{"firstName":true,"email":"x","nonsense":true,"timeslot":"noon"}');
    expect(line && issuesOf(line).map((problem) => problem.split(':')[0])).toEqual([
      'companyId',
      'firstName',
      'email',
      'nonsense',
      'timeslot',
    ]);
  });

  test('without control codes for the terminal in the message', async () => {
    const [problem] = issuesOf(await read({ email: '\u001b[31m\u009b\u202e\n'.padEnd(300, 'x') }));
    expect(problem).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(problem?.length).toBeLessThan(250);
  });
});

describe('createdAt', () => {
  test('is refused for new leads', async () => {
    const [problem] = issuesOf(await read({ createdAt: '2020-01-01' }));
    expect(problem).toContain(
      'createdAt: is set by Leadtap for new leads; remove it, or import past leads with --historical',
    );
  });

  test('is required for historical leads, and must be in the past', async () => {
    expect(issuesOf(await read({}, { historical: true }))).toEqual(['createdAt: is required; add it']);
    const [problem] = issuesOf(await read({ createdAt: '2026-03-02T09:30:00.001Z' }, { historical: true }));
    expect(problem).toContain('createdAt: "2026-03-02T09:30:00.001Z" is in the future');
  });
});
