/** What a database must be able to do to be moved from, and to be moved to. */
import type { Row, Table } from './tables.ts';

export interface MigrationEndpoint {
  count(table: Table): Promise<number>;
  /** The next rows in the order of the table's key: the first ones, or those after a row. Empty at the end. */
  page(table: Table, after: Row | undefined): Promise<readonly Row[]>;
  close(): Promise<void>;
}

/** Nobody else can write to it, or even open it, until it is closed. All that goes wrong with it is a `SourceError`. */
export interface MoveSource extends MigrationEndpoint {
  /** The row with the same key. */
  find(table: Table, row: Row): Promise<Row | undefined>;
  /** The newest stamp of every company, also of those that were deleted: they may be inserted again in the target. */
  lastStamps(): Promise<readonly LastStamp[]>;
}

export interface LastStamp {
  readonly companyId: string;
  readonly stamp: number;
}

export interface MoveTarget extends MigrationEndpoint {
  /** The last row in the order of the table's key. */
  last(table: Table): Promise<Row | undefined>;
  /** Adds the rows as they are, as a whole. Rows that are there already stay, save leads, which must be new. */
  add(table: Table, rows: readonly Row[]): Promise<void>;
  /** From now on leads of these companies are stamped after these times, whatever the clock says. Some may not be there yet. */
  raiseStamps(stamps: readonly LastStamp[]): Promise<void>;
}

/** Says which end failed; what happened is its cause, which could as well have happened to the target. */
export class SourceError extends Error {
  override readonly name = 'SourceError';

  constructor(cause: unknown) {
    super('the source of the move failed', { cause });
  }
}

/** Another program has the source open. */
export class SourceInUseError extends Error {
  override readonly name = 'SourceInUseError';
}

/** The target does not take rows as they are. */
export class RowsRefusedError extends Error {
  override readonly name = 'RowsRefusedError';
}
