import { LEADS, type Table } from './tables.ts';
import { Counter, type Difference, differences, rowsOf, type Tallies } from './tally.ts';
import type { Walk } from './walk.ts';

/** Reads all rows back from the target, and compares their number and checksum with those of the source. */
export async function verify(
  { target, signal, onProgress }: Walk,
  tables: readonly Table[],
  wanted: ReadonlyMap<Table, Tallies>,
): Promise<Difference[]> {
  const found: Difference[] = [];
  for (const table of tables) {
    const tallies = wanted.get(table) ?? new Map();
    const counter = new Counter(table);
    await target.read(table, async (page) => {
      signal.throwIfAborted();
      for (const row of page) counter.add(row);
      if (table === LEADS) onProgress('verifying', counter.rows, rowsOf(tallies));
    });
    found.push(...differences(table, tallies, counter.finish()));
  }
  return found;
}
