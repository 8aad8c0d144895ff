/** What SQLite holds and PostgreSQL cannot. */
import { toUSVString } from 'node:util';
import { isJsonObject } from '../records.ts';
import { type ColumnKind, identify, type Row, type Table } from './tables.ts';

/** A value that the target does not take. */
export interface Unkeepable {
  readonly table: string;
  /** The columns that tell which row it is. */
  readonly row: Row;
  readonly column: string;
  readonly reason: 'characters' | 'time';
}

/** How many there are, and the first of them. */
export interface Listed<T> {
  readonly total: number;
  readonly first: readonly T[];
}

const SHOWN = 20;

/** Collects any number of things in little memory. */
export class Listing<T> implements Listed<T> {
  readonly first: T[] = [];
  total = 0;

  add(items: readonly T[]): void {
    this.total += items.length;
    this.first.push(...items.slice(0, SHOWN - this.first.length));
  }
}

/** No text of PostgreSQL holds a NUL; half of a surrogate pair is no text anywhere, but JSON can write it. */
const isBad = (text: string): boolean => text.includes('\0') || toUSVString(text) !== text;

function hasBadText(value: unknown): boolean {
  if (typeof value === 'string') return isBad(value);
  if (Array.isArray(value)) return value.some(hasBadText);
  return isJsonObject(value) && Object.entries(value).some(([key, inner]) => isBad(key) || hasBadText(inner));
}

/** The years of PostgreSQL's schema: those that ISO 8601 writes with four digits. */
const FIRST_TIME = Date.parse('0000-01-01T00:00:00.000Z');
const LAST_TIME = Date.parse('9999-12-31T23:59:59.999Z');

const isBadTime = (value: unknown): boolean =>
  typeof value === 'number' && (value < FIRST_TIME || value > LAST_TIME);

function reasonOf(kind: ColumnKind, value: unknown): Unkeepable['reason'] | undefined {
  if (kind === 'time') return isBadTime(value) ? 'time' : undefined;
  return hasBadText(value) ? 'characters' : undefined;
}

export function unkeepableIn(table: Table, row: Row): Unkeepable[] {
  return table.columns.flatMap(({ name: column, kind }) => {
    const reason = reasonOf(kind, row[column]);
    return reason === undefined ? [] : [{ table: table.name, row: identify(table, row), column, reason }];
  });
}

const replaceText = (text: string): string => toUSVString(text).replaceAll('\0', '\ufffd');

function replaced(value: unknown): unknown {
  if (typeof value === 'string') return replaceText(value);
  if (Array.isArray(value)) return value.map(replaced);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([key, inner]) => [replaceText(key), replaced(inner)] as const);
  // Two keys that became one would lose a value: then nothing is replaced, and the row stays unkeepable.
  return new Set(entries.map(([key]) => key)).size === entries.length ? Object.fromEntries(entries) : value;
}

/** The row as the target can keep it, with U+FFFD for every bad character. They stand in JSON only: no other column has a way to write them. */
export const toKeepable = ({ columns }: Table, row: Row): Row =>
  Object.fromEntries(
    columns.map(({ name, kind }) => [
      name,
      kind === 'json' || kind === 'texts' ? replaced(row[name]) : row[name],
    ]),
  );
