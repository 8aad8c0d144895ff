/**
 * The cells of exported CSV. Spreadsheets run a cell that begins with one of these characters as a formula, full-width ones as well,
 * and the text of a lead may come from anyone. An export puts an apostrophe before such a text, as OWASP recommends, and an import
 * removes it again.
 */
const FORMULA = /^'*\s*[=+\-@＝＋－＠]|^'*[\t\r\n]/;
/** As a formula it is the same number. `+49-30-1234` would be -1215. */
const NUMBER = /^[+-][\d .]*$/;

export const escapeFormula = (text: string): string =>
  FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;

export const unescapeFormula = (cell: string): string =>
  cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell;

function toCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const cell = escapeFormula(typeof value === 'string' ? value : JSON.stringify(value));
  return /[",;\t\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/** RFC 4180. */
export const toCsvRow = (values: readonly unknown[]): string => `${values.map(toCell).join(',')}\r\n`;

/** Excel reads UTF-8 only after a byte order mark. */
export const CSV_START = '\uFEFF';
