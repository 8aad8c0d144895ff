import { LEADS, type Row, TABLES, type Table } from './tables.ts';
import { canonical } from './tally.ts';
import { identify } from './unkeepable.ts';
import type { Walk } from './walk.ts';

export interface ForeignRow {
  readonly table: string;
  /** The columns that tell which row it is. */
  readonly row: Row;
}

/** A row of the target that the source does not have, or has otherwise: then the target is of something else. */
export async function findForeignRow({
  source,
  target,
  signal,
  onProgress,
}: Walk): Promise<ForeignRow | undefined> {
  const leads = await target.count(LEADS);
  for (const table of TABLES) {
    let compared = 0;
    const row = await target.read(table, async (page) => {
      signal.throwIfAborted();
      for (const row of page) {
        const ours = await source.find(table, row);
        if (!ours || canonical(table, ours) !== canonical(table, row)) return identify(table, row);
      }
      compared += page.length;
      if (table === LEADS) onProgress('comparing', compared, leads);
      return undefined;
    });
    if (row !== undefined) return { table: table.name, row };
  }
  return undefined;
}

/** Adds what is not there yet, a page in each transaction. */
export async function copyTable(
  { source, target, signal }: Walk,
  table: Table,
  { after, onCopied }: { readonly after?: Row | undefined; readonly onCopied?: (rows: number) => void } = {},
): Promise<void> {
  let added: Promise<void> = Promise.resolve();
  for await (const page of source.pages(table, after)) {
    // This page was read while the one before it was being written.
    await added;
    signal.throwIfAborted();
    added = target.add(table, page).then(() => onCopied?.(page.length));
    added.catch(() => undefined);
  }
  await added;
}

/** Leads are added in the order of their keys, so those that an earlier run left are the first ones. */
export async function copyLeads(walk: Walk): Promise<void> {
  const { source, target, onProgress } = walk;
  const after = await target.last(LEADS);
  const missing = (await source.count(LEADS)) - (await target.count(LEADS));
  let copied = 0;
  const onCopied = (rows: number) => {
    copied += rows;
    onProgress('copying', copied, missing);
  };
  await copyTable(walk, LEADS, { after, onCopied });
}
