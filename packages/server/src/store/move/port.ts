/** What a database must be able to do to be moved from, and to be moved to. */
import type { Row, Table } from './tables.ts';

/** Nobody else can write to it, or even open it, until it is closed. */
export interface MoveSource {
  count(table: Table): Promise<number>;
  /** In the order of the table's key; those after a row, if one is given. */
  pages(table: Table, after?: Row): AsyncIterable<readonly Row[]>;
  /** The row with the same key. */
  find(table: Table, row: Row): Promise<Row | undefined>;
  /** The newest stamp of every company. */
  lastStamps(): Promise<readonly LastStamp[]>;
  close(): Promise<void>;
}

export interface LastStamp {
  readonly companyId: string;
  readonly stamp: number;
}

export interface MoveTarget {
  count(table: Table): Promise<number>;
  /** Gives all rows in the order of the table's key, page by page, until one of the answers is not undefined. */
  read<T>(table: Table, take: (page: readonly Row[]) => Promise<T | undefined>): Promise<T | undefined>;
  /** The last row in the order of the table's key. */
  last(table: Table): Promise<Row | undefined>;
  /** Adds the rows as they are, as a whole. Rows that are there already stay, save leads, which must be new. */
  add(table: Table, rows: readonly Row[]): Promise<void>;
  /** From now on leads of these companies are stamped after these times, whatever the clock says. */
  raiseStamps(stamps: readonly LastStamp[]): Promise<void>;
  close(): Promise<void>;
}

/** Another program has the source open. */
export class SourceInUseError extends Error {
  override readonly name = 'SourceInUseError';
}

/** The target does not take rows as they are. */
export class RowsRefusedError extends Error {
  override readonly name = 'RowsRefusedError';
}
