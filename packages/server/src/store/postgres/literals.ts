/**
 * Rows as PostgreSQL reads them from one text: an array of composite values. The server reads it in half the time that it
 * takes for the same rows as JSON.
 * https://www.postgresql.org/docs/current/rowtypes.html#ROWTYPES-IO-SYNTAX, and arrays.html#ARRAYS-IO
 */
export type Field = string | number | boolean | null;

/** Quoted twice: inside its row, and with that inside the array. */
const quoted = (text: string): string =>
  `\\"${text.replaceAll('\\', '\\\\\\\\').replaceAll('"', '\\"\\"')}\\"`;

const fieldOf = (value: Field): string => {
  if (value === null) return '';
  return typeof value === 'string' ? quoted(value) : String(value);
};

export const rowsLiteral = (rows: readonly (readonly Field[])[]): string =>
  `{${rows.map((row) => `"(${row.map(fieldOf).join(',')})"`).join(',')}}`;

/** An array of texts as a field of a row. */
export const textsLiteral = (texts: readonly string[]): string =>
  `{${texts.map((text) => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`).join(',')}}`;
