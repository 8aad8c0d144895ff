import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { terminalWithUsers } from '../cli/terminal.ts';
import { csv, leadOf, outline, readChunks } from './support/read-lines.ts';

const HEADER = 'companyId,id,firstName,addressNotes';
const MEBIBYTE = 1024 * 1024;
const UNCLOSED = [expect.stringContaining('opens a quote that is not closed at the end of its cell')];
const AFTER_QUOTE = [expect.stringContaining('has text after a closing quote')];
const TOO_LONG = [expect.stringContaining('is longer than 1,048,576 bytes')];
const FOOTER = 'add the missing cells, or delete the line if it is the footer of a report';

const rows = async (body: string, options: { skipLines?: number; cuts?: number[] } = {}) =>
  outline(await csv(`${HEADER}\n${body}`, options));

const lead = (id: string, firstName: string | null = null, addressNotes: string | null = null) => ({
  companyId: 'acme',
  id,
  fields: { firstName, addressNotes },
});

test.each([
  ['acme,1,6" pipe,', '6" pipe', null],
  ['acme,1,Ad "Roof","x"', 'Ad "Roof"', 'x'],
  ['acme,1,a""b,c"', 'a""b', 'c"'],
  ['acme,1,"""a"" b",6" pipe', '"a" b', '6" pipe'],
  // Programs write it so that spreadsheets do not read a number.
  ['acme,1,="01067","=""069"""', '01067', '069'],
  ['acme,1,"Moreau, Ada","a ""blue""\r\ndoor"', 'Moreau, Ada', 'a "blue"\r\ndoor'],
  ['acme,1,"\nacme,9,,\n",', 'acme,9,,', null],
])('%j is one row', async (row, firstName, notes) => {
  expect((await rows(`${row}\nacme,2,,`))[0]).toEqual([2, lead('1', firstName, notes)]);
  expect((await rows(`${row}\r\nacme,2,,\r\n`)).map(([, result]) => result)).toEqual([
    lead('1', firstName, notes),
    lead('2'),
  ]);
});

test.each([
  ['too many cells', 'acme,1,a,b,c', ['has 5 cells, but the header has 4; put cells with a comma in quotes']],
  ['too few cells', 'acme,1', [`has 2 cells, but the header has 4; ${FOOTER}`]],
  ['a footer', '"Grand Totals (2 records)"', [`has 1 cell, but the header has 4; ${FOOTER}`]],
  ['text after a closing quote', 'acme,1,"a"b,c', AFTER_QUOTE],
  ['a space after a closing quote', 'acme,1,"a" ,c', AFTER_QUOTE],
  ['a quote that is never closed', 'acme,1,"oops,', UNCLOSED],
  ['a line of more than a mebibyte', 'x'.repeat(MEBIBYTE + 1), TOO_LONG],
])('%s costs one line', async (_case, row, issues) => {
  expect(await rows(`acme,0,,\n${row}\nacme,2,,\nacme,3,a,\n`)).toEqual([
    [2, lead('0')],
    [3, issues],
    [4, lead('2')],
    [5, lead('3', 'a')],
  ]);
});

test.each([
  ['the quotes of a later cell', 'acme,1,"oops,\nacme,2,,\nacme,3,"a",\nacme,4,,\n', [2]],
  ['a cell that begins with a comma', 'acme,1,"oops,\nacme,2,",a",\nacme,3,",",\nacme,4,,\n', [2]],
  ['another open quote', 'acme,1,"oops,\nacme,2,,\nacme,3,"oops,\nacme,4,,\n', [2, 4]],
  ['a cell with line breaks', 'acme,1,"oops,\nacme,2,,\nacme,3,"a\n\nb",\nacme,4,,\n', [2]],
])('of a quote that is closed by %s, only the first line is rejected', async (_case, body, rejected) => {
  const read = await rows(body);
  expect(read.filter(([, result]) => Array.isArray(result)).map(([number]) => number)).toEqual(rejected);
  expect(read).toHaveLength(4);
});

test('a row of several lines with the wrong number of cells says where it ends', async () => {
  expect(await rows('acme,1,"\nacme,9,,\n",,b,c\nacme,2,,\n')).toEqual([
    [2, [expect.stringMatching(/^has 6 cells.*\(the row continues to line 4\)$/)]],
    [5, lead('2')],
  ]);
});

test('line numbers are those of the file, and the first lines can be skipped', async () => {
  const body = '\nacme,1,"a\r\n\r\nb",c\n\r\nacme,2,,\n';
  const numbers = async (skipLines: number) => (await rows(body, { skipLines })).map(([number]) => number);
  expect(await numbers(0)).toEqual([3, 7]);
  expect(await numbers(2)).toEqual([3, 7]);
  expect(await numbers(3)).toEqual([7]);
});

test('a row keeps its bytes unchanged for the rejects file', async () => {
  const [line, broken] = await csv(`${HEADER}\r\nacme,1,"a\r\nb",c\r\nacme,1,"oops,\r\n`);
  expect([String(line?.raw), String(broken?.raw)]).toEqual(['acme,1,"a\r\nb",c\r', 'acme,1,"oops,\r']);
});

test('a quote that is not closed within a mebibyte holds no more than that in memory', async () => {
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
  expect(most).toBeGreaterThan(MEBIBYTE / 2);
  expect(most).toBeLessThanOrEqual(MEBIBYTE);
});

test('the command imports the rows after a broken quote, and keeps its line', async () => {
  const shell = await terminalWithUsers();
  const good = Array.from({ length: 1500 }, (_, index) => `acme,${index},Ada,${'x'.repeat(1000)}\n`);
  shell.save('leads.csv', `${HEADER}\nacme,x,"oops,\n${good.join('')}`);
  const ran = await shell.run('leads import leads.csv --acknowledge --rejects wrong.csv');
  expect(ran.stdout).toMatch(/\ncommitted 1502\n1500 added, 0 updated, 1 rejected\n$/);
  expect(ran.stderr).toMatch(/^line 2: opens a quote/);
  expect(readFileSync(shell.path('wrong.csv'), 'utf8')).toBe(`${HEADER}\nacme,x,"oops,\n`);
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
  const rowLead = ([id, name, notes]: readonly { value: string }[]) =>
    lead(id?.value ?? '', name?.value.trim() || null, notes?.value.trim() || null);

  test('cells are read as they were written, in chunks of any size', async () => {
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
      { numRuns: 200 },
    );
  });

  test('any text is read the same in any chunks, and no line is lost', async () => {
    await fc.assert(
      fc.asyncProperty(text, fc.array(fc.nat()), async (body, cuts) => {
        const file = `${HEADER}\nacme,1,,\n${body}`;
        const whole = await csv(file);
        expect(outline(await csv(file, { cuts }))).toEqual(outline(whole));
        // Blank lines and rows of empty cells are skipped.
        const ink = (some: string) => some.replace(/^[\s,"]*$/gm, '').replace(/\s/g, '');
        expect(ink(whole.map(({ raw }) => `${raw}`).join('\n'))).toBe(ink(`acme,1,,\n${body}`));
      }),
      { numRuns: 200 },
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
          outline(await csv(`${HEADER}\n${lines.join('\n')}`)).map(([number, result]) => [number, result]),
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
