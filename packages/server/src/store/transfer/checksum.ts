import { createHash } from 'node:crypto';
import { canonical, type Row, type Table } from './tables.ts';

/** How many rows there are, and a checksum over all their columns. */
export interface Tally {
  readonly rows: number;
  readonly sha256: string;
}

/** One for the table, or one for each of its groups. */
export type Tallies = ReadonlyMap<string, Tally>;

/** Counts rows and sums them up while they pass. Rows of a group must come one after the other. */
export class Counter {
  readonly #table: Table;
  readonly #tallies = new Map<string, Tally>();
  #group = '';
  #rows = 0;
  #hash = createHash('sha256');

  constructor(table: Table) {
    this.#table = table;
  }

  add(row: Row): void {
    const { groupBy } = this.#table;
    const group = groupBy === undefined ? '' : String(row[groupBy]);
    if (group !== this.#group) this.#begin(group);
    this.#hash.update(`${canonical(this.#table, row)}\n`);
    this.#rows += 1;
  }

  finish(): Tallies {
    this.#begin('');
    return this.#tallies;
  }

  #begin(group: string): void {
    if (this.#rows > 0 || this.#table.groupBy === undefined)
      this.#tallies.set(this.#group, { rows: this.#rows, sha256: this.#hash.digest('hex') });
    this.#group = group;
    this.#rows = 0;
    this.#hash = createHash('sha256');
  }
}

export const rowsOf = (tallies: Tallies): number =>
  [...tallies.values()].reduce((sum, { rows }) => sum + rows, 0);

/** Where the copy is not what it should be. */
export interface Difference {
  readonly table: string;
  /** Where the table is tallied by company. */
  readonly companyId?: string;
  readonly source: Tally;
  readonly target: Tally;
}

const NOTHING: Tally = { rows: 0, sha256: createHash('sha256').digest('hex') };

export function differences(table: Table, source: Tallies, target: Tallies): Difference[] {
  return [...new Set([...source.keys(), ...target.keys()])].flatMap((group) => {
    const [wanted, found] = [source.get(group) ?? NOTHING, target.get(group) ?? NOTHING];
    if (wanted.sha256 === found.sha256 && wanted.rows === found.rows) return [];
    const companyId = table.groupBy === undefined ? {} : { companyId: group };
    return [{ table: table.name, ...companyId, source: wanted, target: found }];
  });
}
