/** How every step of a move goes through the tables. */
import type { MigrationEndpoint, MoveSource, MoveTarget } from './port.ts';
import { LEADS, type Row, type Table } from './tables.ts';

export type MoveStep = 'checking' | 'comparing' | 'copying' | 'verifying';

/** What every step has at hand. A step rejects with the signal's reason when that fires. */
export interface Walk {
  readonly source: MoveSource;
  readonly target: MoveTarget;
  readonly signal: AbortSignal;
  /** So many leads of so many are through this step. */
  readonly onProgress: (step: MoveStep, leads: number, of: number) => void;
  /** A row of the source as the target is to have it. */
  readonly toTarget: (table: Table, row: Row) => Row;
}

/** The rows of a table in the order of its key: all of them, or those after a row. */
export async function* pages(
  end: MigrationEndpoint,
  table: Table,
  { signal, after }: { readonly signal: AbortSignal; readonly after?: Row | undefined },
): AsyncGenerator<readonly Row[]> {
  for (let last = after; ; ) {
    const page = await end.page(table, last);
    signal.throwIfAborted();
    if (page.length === 0) return;
    yield page;
    last = page.at(-1);
  }
}

/** All rows of a table, for a step that tells how far it is. It tells of leads alone: the other tables are short. */
export async function* pagesOfStep(
  { signal, onProgress }: Walk,
  step: MoveStep,
  end: MigrationEndpoint,
  table: Table,
): AsyncGenerator<readonly Row[]> {
  const leads = table === LEADS ? await end.count(LEADS) : 0;
  let done = 0;
  for await (const page of pages(end, table, { signal })) {
    yield page;
    done += page.length;
    if (table === LEADS) onProgress(step, done, leads);
  }
}
