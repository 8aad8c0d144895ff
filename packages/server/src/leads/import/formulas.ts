/**
 * Spreadsheets run a cell that begins with one of these characters as a formula, and the text of a lead may come from anyone.
 * An export puts an apostrophe before such a text, as OWASP recommends, and an import removes it again.
 */
const FORMULA = /^[=+\-@\t\r\n]/;
const ESCAPED = /^'+[=+\-@\t\r\n]/;
/** Phone numbers and other numbers call no function. */
const NUMBER = /^[+-][\d\s().,/-]*$/;

export const escapeFormula = (text: string): string =>
  ESCAPED.test(text) || (FORMULA.test(text) && !NUMBER.test(text)) ? `'${text}` : text;

export const unescapeFormula = (cell: string): string => (ESCAPED.test(cell) ? cell.slice(1) : cell);
