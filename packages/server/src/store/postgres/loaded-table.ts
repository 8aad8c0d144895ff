import type { StatusRow, Table } from '../organisation-changes.ts';
import type { StatusOfCompany } from '../store.ts';

/** What the database holds of a table, and what is to be changed in it: read at once, and written at once. */
export class LoadedTable<Row extends Key, Key> implements Table<Row, Key> {
  readonly #keyOf: (key: Key) => string;
  readonly #loaded: ReadonlyMap<string, Row>;
  readonly #changed = new Map<string, Row>();

  constructor(rows: readonly Row[], keyOf: (key: Key) => string) {
    this.#keyOf = keyOf;
    this.#loaded = new Map(rows.map((row) => [keyOf(row), row]));
  }

  find(key: Key): Row | undefined {
    const text = this.#keyOf(key);
    return this.#changed.get(text) ?? this.#loaded.get(text);
  }

  put(row: Row): void {
    this.#changed.set(this.#keyOf(row), row);
  }

  get changed(): Row[] {
    return [...this.#changed.values()];
  }

  /** Those of the changed rows that are not new. */
  get replaced(): Row[] {
    return this.changed.filter((row) => this.#loaded.has(this.#keyOf(row)));
  }
}

/** No id holds a NUL. */
export const idInCompany = (companyId: string, id: string): string => `${companyId}\0${id}`;

export class LoadedStatuses extends LoadedTable<StatusRow, StatusOfCompany> {
  readonly #ofCompany = new Map<string, StatusRow[]>();

  constructor(rows: readonly StatusRow[]) {
    super(rows, ({ companyId, value }) => idInCompany(companyId, value));
    for (const row of rows) {
      const others = this.#ofCompany.get(row.companyId);
      if (others) others.push(row);
      else this.#ofCompany.set(row.companyId, [row]);
    }
  }

  ofCompany(companyId: string): readonly StatusRow[] {
    return this.#ofCompany.get(companyId) ?? [];
  }
}
