import { type Listed, Listing } from './listing.ts';
import { LEADS, type Row, TABLES, type Table } from './tables.ts';
import { Counter, type Tallies } from './tally.ts';
import { replaceCharacters, type Unkeepable, unkeepableIn } from './unkeepable.ts';
import type { Walk } from './walk.ts';

export interface Survey {
  /** Of the rows as the target is to have them. */
  readonly tallies: ReadonlyMap<Table, Tallies>;
  readonly unkeepable: Listed<Unkeepable>;
  readonly replaced: Listed<Unkeepable>;
}

/** Reads all of the source before anything is written: what there is, and what the target cannot keep. */
export async function survey({ source, signal, onProgress }: Walk, mayReplace: boolean): Promise<Survey> {
  const tallies = new Map<Table, Tallies>();
  const unkeepable = new Listing<Unkeepable>();
  const replaced = new Listing<Unkeepable>();

  const inspect = (table: Table, row: Row): Row => {
    const found = unkeepableIn(table, row);
    if (found.length === 0) return row;
    const kept = mayReplace ? replaceCharacters(table, row) : row;
    const left = unkeepableIn(table, kept);
    unkeepable.add(left);
    if (left.length === 0) replaced.add(found);
    return kept;
  };

  const leads = await source.count(LEADS);
  for (const table of TABLES) {
    const counter = new Counter(table);
    for await (const page of source.pages(table)) {
      signal.throwIfAborted();
      for (const row of page) counter.add(inspect(table, row));
      if (table === LEADS) onProgress('checking', counter.rows, leads);
    }
    tallies.set(table, counter.finish());
  }
  return { tallies, unkeepable, replaced };
}
