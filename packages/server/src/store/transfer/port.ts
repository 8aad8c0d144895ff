/** What a database must support to be moved from, and to be moved to. */
import type { Row, Table } from './tables.ts';

export interface MigrationEndpoint {
  /** The next rows in the order of the table's key: the first ones, or those after a row. Empty at the end. */
  page(table: Table, after: Row | undefined): Promise<readonly Row[]>;
  close(): Promise<void>;
}

/** No other program can open the database until it is closed. All its errors are `SourceError`s. */
export interface MoveSource extends MigrationEndpoint {
  count(table: Table): Promise<number>;
  /** The last stamp of every company, also of deleted ones, which may be inserted again in the target. */
  lastStamps(): Promise<readonly LastStamp[]>;
}

export interface LastStamp {
  readonly companyId: string;
  readonly stamp: number;
}

export interface MoveTarget extends MigrationEndpoint {
  /** Adds the rows unchanged, in one transaction. Existing rows are kept, except leads, which must be new. */
  add(table: Table, rows: readonly Row[]): Promise<void>;
  /** New leads of these companies are stamped after these times, whatever the clock says. A company may not exist yet. */
  raiseStamps(stamps: readonly LastStamp[]): Promise<void>;
}

/** Shows that the source failed; the cause could have come from the target as well. */
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

/** The target rejects rows. */
export class RowsRefusedError extends Error {
  override readonly name = 'RowsRefusedError';
}
