import { createHash } from 'node:crypto';
import { isJsonObject } from '../../json-object.ts';
import { LEADS, type Row, type Table } from './tables.ts';

/** How many rows there are, and a checksum over all their columns. */
export interface Tally {
  readonly rows: number;
  readonly sha256: string;
}

/** One for a table, or one for each company in the table of leads. */
export type Tallies = ReadonlyMap<string, Tally>;

/** The same text for the same values, whichever database gave them: one of them keeps no order of keys in JSON. */
export const canonical = ({ columns }: Table, row: Row): string =>
  JSON.stringify(columns.map(({ name, kind }) => (kind === 'json' ? sorted(row[name]) : row[name])));

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key])]));
}

/** Counts rows and sums them up while they pass. Rows of a company must come one after the other. */
export class Counter {
  readonly #table: Table;
  readonly #tallies = new Map<string, Tally>();
  /** Of all groups. */
  rows = 0;
  #group = '';
  #rowsOfGroup = 0;
  #hash = createHash('sha256');

  constructor(table: Table) {
    this.#table = table;
  }

  add(row: Row): void {
    const group = this.#table === LEADS ? String(row['company_id']) : '';
    if (group !== this.#group) this.#begin(group);
    this.#hash.update(`${canonical(this.#table, row)}\n`);
    this.rows += 1;
    this.#rowsOfGroup += 1;
  }

  finish(): Tallies {
    this.#begin('');
    return this.#tallies;
  }

  #begin(group: string): void {
    if (this.#rowsOfGroup > 0 || this.#table !== LEADS)
      this.#tallies.set(this.#group, { rows: this.#rowsOfGroup, sha256: this.#hash.digest('hex') });
    this.#group = group;
    this.#rowsOfGroup = 0;
    this.#hash = createHash('sha256');
  }
}

export const rowsOf = (tallies: Tallies): number =>
  [...tallies.values()].reduce((sum, { rows }) => sum + rows, 0);

/** Where the copy is not what it should be. */
export interface Difference {
  readonly table: string;
  /** Only of leads. */
  readonly companyId?: string;
  readonly source: Tally;
  readonly target: Tally;
}

const NOTHING: Tally = { rows: 0, sha256: createHash('sha256').digest('hex') };

export function differences(table: Table, source: Tallies, target: Tallies): Difference[] {
  return [...new Set([...source.keys(), ...target.keys()])].flatMap((group) => {
    const [wanted, found] = [source.get(group) ?? NOTHING, target.get(group) ?? NOTHING];
    if (wanted.sha256 === found.sha256 && wanted.rows === found.rows) return [];
    const companyId = table === LEADS ? { companyId: group } : {};
    return [{ table: table.name, ...companyId, source: wanted, target: found }];
  });
}
