import { describe, expect, test } from 'vitest';
import { escapeFormula, toCsvRow, unescapeFormula } from '../src/csv-cells.ts';

describe('a text that a spreadsheet would run gets an apostrophe, which an import removes', () => {
  test.each([
    ['=1+1', "'=1+1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['-2+3', "'-2+3"],
    // A formula whose result is -1215.
    ['+49-30-1234', "'+49-30-1234"],
    ['+49/30', "'+49/30"],
    ['+49 (30) 1234', "'+49 (30) 1234"],
    ['-1,000', "'-1,000"],
    ['＝1+1', "'＝1+1"],
    ['＋49', "'＋49"],
    ['－1', "'－1"],
    ['＠SUM(A1)', "'＠SUM(A1)"],
    [' =1+1', "' =1+1"],
    ['\u00a0=1+1', "'\u00a0=1+1"],
    ['\tx', "'\tx"],
    ['\rx', "'\rx"],
    ['\nx', "'\nx"],
    // It has an apostrophe of its own, which must come back.
    ["'=x", "''=x"],
    ["''@x", "'''@x"],
    // A number, and everything that begins with something else.
    ['+33 1 70 18 99 00', '+33 1 70 18 99 00'],
    ['+4930.1234', '+4930.1234'],
    ['-1.5', '-1.5'],
    ['-', '-'],
    ["'quoted'", "'quoted'"],
    ['ada@example.com', 'ada@example.com'],
    ['1+1', '1+1'],
    ['', ''],
  ])('%j is %j', (text, cell) => {
    expect(escapeFormula(text)).toBe(cell);
    expect(unescapeFormula(cell)).toBe(text);
  });
});

test('a row has quotes where RFC 4180 and spreadsheets need them', () => {
  expect(toCsvRow(['a', 'a "b"', 'a,b', 'a;b', 'two\nlines', ' x', null, undefined, 1, true, { a: 1 }])).toBe(
    `a,"a ""b""","a,b","a;b","two\nlines"," x",,,1,true,"{""a"":1}"\r\n`,
  );
});
