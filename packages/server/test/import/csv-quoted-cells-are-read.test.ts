import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { csv, issuesOf, leadOf, outline } from './support/read-lines.ts';

const HEADER = 'companyId,id,firstName,addressNotes';

const rows = async (body: string | Buffer, skipLines = 0) =>
  outline(await csv(Buffer.concat([Buffer.from(`${HEADER}\n`), Buffer.from(body)]), { skipLines }));

const lead = (id: string, firstName: string | null, addressNotes: string | null) => ({
  companyId: 'acme',
  id,
  fields: { firstName, addressNotes },
});

test.each([
  ['acme,1,6" pipe,', '6" pipe', null],
  ['acme,1,Ad "Roof","x"', 'Ad "Roof"', 'x'],
  ['acme,1,a""b,c"', 'a""b', 'c"'],
  // Programs write it so that spreadsheets do not read a number.
  ['acme,1,="01067","=""069"""', '01067', '069'],
])('a quote inside an unquoted cell is text: %s', async (row, firstName, notes) => {
  expect(await rows(`${row}\nacme,2,,\n`)).toEqual([
    [2, lead('1', firstName, notes)],
    [3, lead('2', null, null)],
  ]);
});

test('commas, quotes and line breaks inside quotes are part of the cell', async () => {
  expect(await rows('acme,1,"Moreau, Ada","a ""blue""\ndoor"\nacme,2,Bo,\n')).toEqual([
    [2, lead('1', 'Moreau, Ada', 'a "blue"\ndoor')],
    [4, lead('2', 'Bo', null)],
  ]);
});

test.each([
  ['', lead('1', '\nacme,9,,\n', null)],
  [',b,c', [expect.stringMatching(/^has 6 cells.*\(the row continues to line 4\)$/)]],
])('quoted text is never read as rows, even if the row has another error (%j)', async (more, result) => {
  expect(await rows(`acme,1,"\nacme,9,,\n",${more}\nacme,2,,\n`)).toEqual([
    [2, result],
    [5, lead('2', null, null)],
  ]);
});

test.each([
  ['carriage returns', '\r\n', true],
  ['no line feed at the end', '\n', false],
])('%s', async (_case, end, last) => {
  const text = [HEADER, 'acme,1,"x\r\ny",z', 'acme,2,,'].join(end) + (last ? end : '');
  const lines = await csv(`\uFEFF${text}`);
  expect(outline(lines)).toEqual([
    [2, lead('1', 'x\r\ny', 'z')],
    [4, lead('2', null, null)],
  ]);
});

test('a quoted first column after a byte order mark', async () => {
  const [line] = await csv('\uFEFF"companyId","id"\n"acme","1"\n');
  expect(leadOf(line).companyId).toBe('acme');
});

test('a line break in the first column', async () => {
  const [line] = await csv('firstName,companyId\n"A\nda",acme\n');
  expect(leadOf(line).fields).toEqual({ firstName: 'A\nda' });
});

test('line numbers are those of the file, empty lines included', async () => {
  expect((await rows('\nacme,1,"a\n\nb",c\n\r\nacme,2,,\n')).map(([number]) => number)).toEqual([3, 7]);
});

test('the first lines can be skipped, and the header is still read', async () => {
  const body = 'acme,1,"a\nb",\nacme,2,,\nacme,3,,\n';
  const numbers = async (skipLines: number) => (await rows(body, skipLines)).map(([number]) => number);
  expect(await numbers(1)).toEqual([2, 4, 5]);
  expect(await numbers(3)).toEqual([4, 5]);
  expect(await numbers(4)).toEqual([5]);
});

describe('a broken row is rejected and the others are kept', () => {
  test.each([
    ['too many cells', 'acme,1,a,b,c', 'has 5 cells, but the header has 4; put cells with a comma in quotes'],
    ['too few cells', 'acme,1', 'has 2 cells, but the header has 4'],
    ['text after a closing quote', 'acme,1,"a"b,c', 'has text after a closing quote'],
    ['a space after a closing quote', 'acme,1,"a" ,c', 'has text after a closing quote'],
  ])('%s', async (_case, row, issue) => {
    expect(await rows(`acme,0,,\n${row}\nacme,2,,\n`)).toEqual([
      [2, lead('0', null, null)],
      [3, [expect.stringContaining(issue)]],
      [4, lead('2', null, null)],
    ]);
  });

  test('bytes that are not UTF-8', async () => {
    const latin1 = Buffer.from('acme,1,Zoë,\nacme,2,,\n', 'latin1');
    expect(await rows(Buffer.concat([Buffer.from('acme,0,Zoë,\n'), latin1]))).toEqual([
      [2, lead('0', 'Zoë', null)],
      [3, ['contains bytes that are not UTF-8; save the file as UTF-8']],
      [4, lead('2', null, null)],
    ]);
  });

  test('many broken rows among good ones', async () => {
    const body = Array.from({ length: 500 }, (_, index) =>
      index % 7 === 0 ? `acme,${index},"a"b,` : `acme,${index},,`,
    );
    const kept = await rows(body.join('\n'));
    expect(kept).toHaveLength(500);
    for (const [index, [number, result]] of kept.entries()) {
      expect(number).toBe(index + 2);
      if (index % 7 === 0) expect(result).toEqual([expect.stringContaining('after a closing quote')]);
      else expect(result).toEqual(lead(`${index}`, null, null));
    }
  });
});

test('a row keeps its bytes unchanged for the rejects file', async () => {
  const [line] = await csv(`${HEADER}\r\nacme,1,"a\r\nb",c\r\n`);
  expect(line?.raw?.toString()).toBe('acme,1,"a\r\nb",c\r');
});

describe('for any text', () => {
  const cell = fc.string({ unit: fc.constantFrom('a', 'é', ',', '"', '\n', '\r', ' ', '|', '𝄞') });

  test('quoted cells are read as they were written', async () => {
    const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(cell, cell)), async (table) => {
        const body = table.map(([name, notes]) => `acme,1,${quoted(name)},${quoted(notes)}\n`).join('');
        const read = await csv(`${HEADER}\n${body}`);
        expect(read.map((line) => leadOf(line).fields)).toEqual(
          table.map(([name, notes]) => ({ firstName: name || null, addressNotes: notes || null })),
        );
      }),
    );
  });

  test('chunk boundaries make no difference, and no line is lost', async () => {
    await fc.assert(
      fc.asyncProperty(cell, fc.array(fc.nat()), async (body, cuts) => {
        const text = `${HEADER}\nacme,1,,\n${body}`;
        const whole = await csv(text);
        expect(outline(await csv(text, { cuts }))).toEqual(outline(whole));
        // Blank lines and rows of empty cells are skipped.
        const ink = (some: string) => some.replace(/^[\s,"]*$/gm, '').replace(/\s/g, '');
        expect(ink(whole.map(({ raw }) => `${raw}`).join('\n'))).toBe(ink(`acme,1,,\n${body}`));
      }),
      { numRuns: 100 },
    );
  });

  test('a broken row does not break the next ones', async () => {
    await fc.assert(
      fc.asyncProperty(cell, async (body) => {
        const alone = await csv(`${HEADER}\n${body}`);
        const afterBroken = await csv(`${HEADER}\nacme,1,,\nacme,2,"a"b,\n${body}`);
        const issues = alone.flatMap(issuesOf).map((issue) => issue.replace(/line \d+/, 'line N'));
        expect(
          afterBroken
            .slice(2)
            .flatMap(issuesOf)
            .map((issue) => issue.replace(/line \d+/, 'line N')),
        ).toEqual(issues);
      }),
    );
  });
});
