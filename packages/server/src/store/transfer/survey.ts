import { Counter, type Tallies } from './checksum.ts';
import { pagesOfStep, type Walk } from './copy-context.ts';
import { type Row, TABLES, type Table } from './tables.ts';
import { type Listed, Listing, type Unkeepable, unkeepableIn } from './unkeepable.ts';

export interface Survey {
  /** Of the rows as the target is to have them. */
  readonly tallies: ReadonlyMap<Table, Tallies>;
  readonly unkeepable: Listed<Unkeepable>;
  readonly replaced: Listed<Unkeepable>;
}

/** Reads all of the source before anything is written: what there is, and what the target cannot keep. */
export async function survey(walk: Walk): Promise<Survey> {
  const tallies = new Map<Table, Tallies>();
  const unkeepable = new Listing<Unkeepable>();
  const replaced = new Listing<Unkeepable>();

  const inspect = (table: Table, row: Row): Row => {
    const found = unkeepableIn(table, row);
    if (found.length === 0) return row;
    const kept = walk.toTarget(table, row);
    const left = unkeepableIn(table, kept);
    unkeepable.add(left);
    if (left.length === 0) replaced.add(found);
    return kept;
  };

  for (const table of TABLES) {
    const counter = new Counter(table);
    for await (const page of pagesOfStep(walk, 'checking', walk.source, table))
      for (const row of page) counter.add(inspect(table, row));
    tallies.set(table, counter.finish());
  }
  return { tallies, unkeepable, replaced };
}
