import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readCsv } from '../../src/leads/import/csv.ts';
import { csv, leadOf, outline } from './reading.ts';

const HEADER = 'companyId,id,firstName,addressNotes';
const MEBIBYTE = 1024 * 1024;
const HOW = 'close it behind its cell, and write a quote inside it as ""';
const NEVER_CLOSED = `opens a quote that is never closed; ${HOW}`;
const TOO_FAR = `opens a quote that is not closed within 1,048,576 bytes and 65,536 lines; ${HOW}`;
const runsOnTo = (line: number) => `opens a quote that runs on to a misplaced one in line ${line}; ${HOW}`;
const BARE = expect.stringContaining('has a quote inside a bare cell');

/** Each row as its number with the id of its lead, or with what is wrong. */
async function rows(body: string, options: { skipLines?: number; cuts?: number[] } = {}) {
  const read = await csv(`${HEADER}\n${body}`, options);
  return outline(read).map(([number, reading]) => [
    number,
    Array.isArray(reading) ? reading.join() : Object(reading).id,
  ]);
}

describe('the line that opens a broken quote is rejected alone, and the next one is read', () => {
  test.each([
    ['never closed', 'acme,1,,\nacme,2,"oops,\nacme,3,,\nacme,4,,\n', [[3, NEVER_CLOSED]]],
    ['never closed, in the last line', 'acme,1,,\nacme,2,,\nacme,3,,\nacme,4,"oops,', [[5, NEVER_CLOSED]]],
    ['running into a quoted cell', 'acme,1,"oops,\nacme,2,,\nacme,3,"a",\nacme,4,,\n', [[2, runsOnTo(4)]]],
    [
      'running into a cell that begins with a comma',
      'acme,1,"oops,\nacme,2,",a",\nacme,3,",",\nacme,4,,\n',
      [[2, runsOnTo(3)]],
    ],
    [
      'twice',
      'acme,1,"oops,\nacme,2,,\nacme,3,"oops,\nacme,4,,\n',
      [
        [2, runsOnTo(4)],
        [4, NEVER_CLOSED],
      ],
    ],
    ['inside a bare cell', 'acme,1,,\nacme,2,5" pipe,"a\nacme,3,,\nacme,4,"",\n', [[3, BARE]]],
    [
      'running into a cell with line breaks',
      'acme,1,"oops,\nacme,2,,\nacme,3,"a\n\nb",\nacme,4,,\n',
      [[2, runsOnTo(4)]],
    ],
  ])('%s', async (_what, body, wrong) => {
    const read = await rows(body);
    expect(read.filter(([, reading]) => !/^\d$/.test(`${reading}`))).toEqual(wrong);
    expect(read.filter(([, reading]) => /^\d$/.test(`${reading}`))).toHaveLength(4 - wrong.length);
  });

  test.each(['c', ' ', '\r', '\rc'])(
    'a cell that has %j behind its quotes gives back its lines one by one',
    async (behind) => {
      expect(await rows(`acme,1,"a\nb"${behind},\nacme,2,,\n`)).toEqual([
        [2, runsOnTo(3)],
        [3, BARE],
        [4, '2'],
      ]);
    },
  );

  test('it is given back as it stood', async () => {
    const [line] = await csv(`${HEADER}\r\nacme,1,"oops,\r\nacme,2,,\r\n`);
    expect(line).toMatchObject({ number: 2, lastNumber: 2, raw: Buffer.from('acme,1,"oops,\r') });
  });

  test('lines can be skipped up to it, and behind it', async () => {
    const body = 'acme,1,"oops,\nacme,2,,\nacme,3,"a\nb",\nacme,4,,\n';
    const numbers = async (skipLines: number) => (await rows(body, { skipLines })).map(([number]) => number);
    expect(await numbers(1)).toEqual([2, 3, 4, 6]);
    expect(await numbers(2)).toEqual([3, 4, 6]);
    expect(await numbers(5)).toEqual([6]);
  });

  test('a header with such a quote is refused', async () => {
    await expect(csv('companyId,"id\nacme,1\n')).rejects.toMatchObject({ problems: [`It ${NEVER_CLOSED}.`] });
  });
});

describe('a quote reaches no further than a mebibyte and 65,536 lines', () => {
  test.each([
    ['bytes', 20_000, 'x'.repeat(60)],
    ['lines', 70_000, ''],
  ])('%s', async (_what, count, notes) => {
    const good = Array.from({ length: count }, (_, index) => `acme,${index},,${notes}\n`);
    const read = await rows(`acme,x,"oops,\n${good.join('')}`);
    expect(read[0]).toEqual([2, TOO_FAR]);
    expect(read.slice(1)).toEqual(good.map((_, index) => [index + 3, `${index}`]));
  });

  test('a row of exactly a mebibyte is one row, and a byte more breaks it', async () => {
    const row = (bytes: number) => `acme,1,"\nacme,9,,\n${'x'.repeat(bytes - 20)}",`;
    expect(row(MEBIBYTE)).toHaveLength(MEBIBYTE);
    expect(await rows(`${row(MEBIBYTE)}\n`)).toEqual([[2, expect.stringContaining('firstName: ')]]);
    expect(await rows(`${row(MEBIBYTE + 1)}\n`)).toEqual([
      [2, TOO_FAR],
      [3, '9'],
      [4, BARE],
    ]);
  });

  test('the limits are those of one row', async () => {
    const body = `acme,1,,"${'\n'.repeat(5000)}"\n`.repeat(300);
    expect(await rows(body)).toEqual(Array.from({ length: 300 }, (_, index) => [index * 5001 + 2, '1']));
  });

  test('a line that is too long by itself ends with its line, also inside a quote', async () => {
    const long = 'x'.repeat(MEBIBYTE + 1);
    const tooLong = expect.stringContaining('is longer than 1,048,576 bytes');
    expect(await rows(`acme,1,"oops,\nacme,2,,\n${long}\nacme,3,,\nacme,4,"${long}\nacme,5,,\n`)).toEqual([
      [2, TOO_FAR],
      [3, '2'],
      [4, tooLong],
      [5, '3'],
      [6, tooLong],
      [7, '5'],
    ]);
  });

  test('no more than that is held in memory', async () => {
    let held = 0;
    let most = 0;
    async function* file(): AsyncGenerator<Buffer> {
      yield Buffer.from(`${HEADER}\nacme,1,"oops,\n`);
      for (let count = 0; count < 300; count++) {
        most = Math.max(most, held);
        held += 10_000;
        yield Buffer.from(`acme,2,,${'x'.repeat(9_991)}\n`);
      }
    }
    const rules = { historical: false, clock: Date.now };
    for await (const lines of readCsv(file(), rules, { skipLines: 0, onHeader: () => {} }))
      for (const { number } of lines) if (number > 2) held -= 10_000;
    expect(held).toBe(0);
    expect(most).toBeGreaterThan(MEBIBYTE - 20_000);
    expect(most).toBeLessThanOrEqual(MEBIBYTE);
  });
});

describe('for any table', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'é', ',', '"', '\n', '\r', ' ', '𝄞') });
  const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`;
  const written = (cell: string, quotes: boolean) => (quotes || /[",\r\n]/.test(cell) ? quoted(cell) : cell);
  /** A cell and how it is written: in quotes where it must be, and sometimes where it need not. */
  const cellOf = (cell: fc.Arbitrary<string>) =>
    fc.tuple(cell, fc.boolean()).map(([value, quotes]) => ({ value, csv: written(value, quotes) }));
  const tableOf = (cell: fc.Arbitrary<string>) =>
    fc.array(fc.tuple(cellOf(fc.constantFrom('1', '2,3')), cellOf(cell), cellOf(cell)), { minLength: 1 });
  const rowText = (row: readonly { csv: string }[]) => `acme,${row.map((cell) => cell.csv).join()}`;
  const rowLead = ([id, name, notes]: readonly { value: string }[]) => ({
    companyId: 'acme',
    id: id?.value,
    fields: { firstName: name?.value || null, addressNotes: notes?.value || null },
  });

  test('it is read as it was written, whatever stands in quotes', async () => {
    await fc.assert(
      fc.asyncProperty(
        tableOf(text),
        fc.constantFrom('\n', '\r\n'),
        fc.array(fc.nat()),
        async (table, end, cuts) => {
          const read = await csv(`${HEADER}\n${table.map((row) => rowText(row) + end).join('')}`, { cuts });
          expect(read.map(leadOf)).toEqual(table.map(rowLead));
        },
      ),
      { numRuns: 300 },
    );
  });

  /** Cells with line breaks begin with a letter here: text like ",\n" can close a stray quote as CSV would have it. */
  const cell = fc.oneof(
    text.map((some) => some.replaceAll('\n', '')),
    text.map((some) => `b${some}`),
  );

  test('whatever becomes of one line, the other rows of one line are kept', async () => {
    const damage = fc.string({ unit: fc.constantFrom('a', ',', '"', '"', '\r', ' ') });
    await fc.assert(
      fc.asyncProperty(tableOf(cell), fc.nat(), fc.nat(), damage, async (table, where, column, put) => {
        const texts = table.map(rowText);
        const lines = texts.join('\n').split('\n');
        const at = where % lines.length;
        const line = lines[at] ?? '';
        const cut = column % (line.length + 1);
        lines[at] = line.slice(0, cut) + put + line.slice(cut + 1);
        const read = new Map(
          outline(await csv(`${HEADER}\n${lines.join('\n')}`)).map(([number, lead]) => [number, lead]),
        );
        let index = 0;
        for (const [row, rowLines] of texts.map((some) => some.split('\n').length).entries()) {
          if (rowLines === 1 && index !== at) expect(read.get(index + 2)).toEqual(rowLead(table[row] ?? []));
          index += rowLines;
        }
      }),
      { numRuns: 1000 },
    );
  });
});
