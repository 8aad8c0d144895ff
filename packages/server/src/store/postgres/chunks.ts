import type { Session } from './connection.ts';

/** A few megabytes of JSON at most, so that neither side holds much, and enough that the round trips do not count. */
const ROWS_PER_STATEMENT = 5000;

/** Runs a statement that takes a JSON array of rows as `$1`, over any number of rows. */
export async function queryInChunks<Row>(
  session: Session,
  text: string,
  rows: readonly object[],
): Promise<Row[]> {
  const answered: Row[] = [];
  for (let start = 0; start < rows.length; start += ROWS_PER_STATEMENT) {
    const part = rows.slice(start, start + ROWS_PER_STATEMENT);
    answered.push(...(await session.query<Row>(text, [JSON.stringify(part)])));
  }
  return answered;
}
