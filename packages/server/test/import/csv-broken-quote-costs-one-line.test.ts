import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { csv, leadOf, outline, readChunks } from './support/read-lines.ts';

const HEADER = 'companyId,id,firstName,addressNotes';
const MEBIBYTE = 1024 * 1024;
const FIX = 'close it at the end of the cell, and write a quote inside the cell as ""';
const NEVER_CLOSED = `opens a quote that is never closed; ${FIX}`;
const CLOSED_TOO_LATE = `opens a quote that is not closed within 1,048,576 bytes and 65,536 lines; ${FIX}`;
const misplacedIn = (line: number) =>
  `opens a quote that is not closed before a misplaced quote in line ${line}; ${FIX}`;
const UNQUOTED = expect.stringContaining('has a quote inside an unquoted cell');

/** Each row as its number with the id of its lead, or with its issues. */
async function rows(body: string, options: { skipLines?: number; cuts?: number[] } = {}) {
  const read = await csv(`${HEADER}\n${body}`, options);
  return outline(read).map(([number, result]) => [
    number,
    Array.isArray(result) ? result.join() : Object(result).id,
  ]);
}

describe('only the line that opens a broken quote is rejected', () => {
  test.each([
    ['never closed', 'acme,1,,\nacme,2,"oops,\nacme,3,,\nacme,4,,\n', [[3, NEVER_CLOSED]]],
    ['never closed, in the last line', 'acme,1,,\nacme,2,,\nacme,3,,\nacme,4,"oops,', [[5, NEVER_CLOSED]]],
    [
      'closed by the quotes of a later cell',
      'acme,1,"oops,\nacme,2,,\nacme,3,"a",\nacme,4,,\n',
      [[2, misplacedIn(4)]],
    ],
    [
      'closed by a cell that begins with a comma',
      'acme,1,"oops,\nacme,2,",a",\nacme,3,",",\nacme,4,,\n',
      [[2, misplacedIn(3)]],
    ],
    [
      'twice',
      'acme,1,"oops,\nacme,2,,\nacme,3,"oops,\nacme,4,,\n',
      [
        [2, misplacedIn(4)],
        [4, NEVER_CLOSED],
      ],
    ],
    ['inside an unquoted cell', 'acme,1,,\nacme,2,5" pipe,"a\nacme,3,,\nacme,4,"",\n', [[3, UNQUOTED]]],
    [
      'closed by a cell with line breaks',
      'acme,1,"oops,\nacme,2,,\nacme,3,"a\n\nb",\nacme,4,,\n',
      [[2, misplacedIn(4)]],
    ],
  ])('%s', async (_case, body, rejected) => {
    const read = await rows(body);
    expect(read.filter(([, result]) => !/^\d$/.test(`${result}`))).toEqual(rejected);
    expect(read.filter(([, result]) => /^\d$/.test(`${result}`))).toHaveLength(4 - rejected.length);
  });

  test.each(['c', ' ', '\r', '\rc'])(
    'the lines of a cell with %j after its closing quote are read one by one',
    async (after) => {
      expect(await rows(`acme,1,"a\nb"${after},\nacme,2,,\n`)).toEqual([
        [2, misplacedIn(3)],
        [3, expect.stringContaining('has 2 cells')],
        [4, '2'],
      ]);
    },
  );

  test('the rejected line is returned unchanged', async () => {
    const [line] = await csv(`${HEADER}\r\nacme,1,"oops,\r\nacme,2,,\r\n`);
    expect(line).toMatchObject({ number: 2, lastNumber: 2, raw: Buffer.from('acme,1,"oops,\r') });
  });

  test('lines can be skipped up to it, and after it', async () => {
    const body = 'acme,1,"oops,\nacme,2,,\nacme,3,"a\nb",\nacme,4,,\n';
    const numbers = async (skipLines: number) => (await rows(body, { skipLines })).map(([number]) => number);
    expect(await numbers(1)).toEqual([2, 3, 4, 6]);
    expect(await numbers(2)).toEqual([3, 4, 6]);
    expect(await numbers(5)).toEqual([6]);
  });

  test('a header with a broken quote is refused', async () => {
    await expect(csv('companyId,"id\nacme,1\n')).rejects.toMatchObject({ fix: [`It ${NEVER_CLOSED}.`] });
  });
});

describe('a quoted cell is limited to one mebibyte and 65,536 lines', () => {
  test.each([
    ['bytes', 20_000, 'x'.repeat(60)],
    ['lines', 70_000, ''],
  ])('%s', async (_limit, count, notes) => {
    const good = Array.from({ length: count }, (_, index) => `acme,${index},,${notes}\n`);
    const read = await rows(`acme,x,"oops,\n${good.join('')}`);
    expect(read[0]).toEqual([2, CLOSED_TOO_LATE]);
    expect(read.slice(1)).toEqual(good.map((_, index) => [index + 3, `${index}`]));
  });

  test('a row of exactly a mebibyte is one row, and a byte more breaks it', async () => {
    const row = (bytes: number) => `acme,1,"\nacme,9,,\n${'x'.repeat(bytes - 20)}",`;
    expect(row(MEBIBYTE)).toHaveLength(MEBIBYTE);
    expect(await rows(`${row(MEBIBYTE)}\n`)).toEqual([[2, expect.stringContaining('firstName: ')]]);
    expect(await rows(`${row(MEBIBYTE + 1)}\n`)).toEqual([
      [2, CLOSED_TOO_LATE],
      [3, '9'],
      [4, expect.stringContaining('has 2 cells')],
    ]);
  });

  test('the limits apply to each row', async () => {
    const body = `acme,1,,"${'\n'.repeat(5000)}"\n`.repeat(300);
    expect(await rows(body)).toEqual(Array.from({ length: 300 }, (_, index) => [index * 5001 + 2, '1']));
  });

  test('a line that is too long ends its row, also inside a quote', async () => {
    const long = 'x'.repeat(MEBIBYTE + 1);
    const tooLong = expect.stringContaining('is longer than 1,048,576 bytes');
    expect(await rows(`acme,1,"oops,\nacme,2,,\n${long}\nacme,3,,\nacme,4,"${long}\nacme,5,,\n`)).toEqual([
      [2, CLOSED_TOO_LATE],
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
    for await (const lines of readChunks(file(), 'csv'))
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
  /** A cell and its CSV: in quotes where it needs them, and sometimes where it does not. */
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

  test('cells are read as they were written', async () => {
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
      { numRuns: 100 },
    );
  });

  /** Cells with line breaks begin with a letter here: text like ",\n" can validly close a stray quote. */
  const cell = fc.oneof(
    text.map((some) => some.replaceAll('\n', '')),
    text.map((some) => `b${some}`),
  );

  test('damage to one line leaves the other one-line rows intact', async () => {
    const damage = fc.string({ unit: fc.constantFrom('a', ',', '"', '"', '\r', ' ') });
    await fc.assert(
      fc.asyncProperty(tableOf(cell), fc.nat(), fc.nat(), damage, async (table, where, column, inserted) => {
        const texts = table.map(rowText);
        const lines = texts.join('\n').split('\n');
        const at = where % lines.length;
        const line = lines[at] ?? '';
        const cut = column % (line.length + 1);
        lines[at] = line.slice(0, cut) + inserted + line.slice(cut + 1);
        const read = new Map(
          outline(await csv(`${HEADER}\n${lines.join('\n')}`)).map(([number, lead]) => [number, lead]),
        );
        let index = 0;
        for (const [row, rowLines] of texts.map((some) => some.split('\n').length).entries()) {
          if (rowLines === 1 && index !== at) expect(read.get(index + 2)).toEqual(rowLead(table[row] ?? []));
          index += rowLines;
        }
      }),
      { numRuns: 200 },
    );
  });
});
