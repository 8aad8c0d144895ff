import { pages, pagesOfStep, type Walk } from './copy-context.ts';
import { canonical, identify, LEADS, type Row, TABLES, type Table } from './tables.ts';

export interface ForeignRow {
  readonly table: string;
  /** The columns that tell which row it is. */
  readonly row: Row;
}

/** A row of the target that the source does not have, or has otherwise: then the target is of something else. */
export async function findForeignRow(walk: Walk): Promise<ForeignRow | undefined> {
  for (const table of TABLES)
    for await (const page of pagesOfStep(walk, 'comparing', walk.target, table))
      for (const row of page)
        if (!(await isInSource(walk, table, row))) return { table: table.name, row: identify(table, row) };
  return undefined;
}

async function isInSource({ source, toTarget }: Walk, table: Table, row: Row): Promise<boolean> {
  const ours = await source.find(table, row);
  return ours !== undefined && canonical(table, toTarget(table, ours)) === canonical(table, row);
}

/** Adds what is not there yet, a page in each transaction. */
export async function copyTable(
  { source, target, signal, toTarget }: Walk,
  table: Table,
  { after, onCopied }: { readonly after?: Row | undefined; readonly onCopied?: (rows: number) => void } = {},
): Promise<void> {
  let added: Promise<void> = Promise.resolve();
  for await (const page of pages(source, table, { signal, after })) {
    // This page was read while the one before it was being written.
    await added;
    signal.throwIfAborted();
    const rows = page.map((row) => toTarget(table, row));
    added = target.add(table, rows).then(() => onCopied?.(rows.length));
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
