/** What both stores hold, column by column: from this one description rows are read, written and compared. */
import { isJsonObject } from '../../json-object.ts';
import { LEAD_COLUMNS, type ColumnKind as LeadColumnKind } from '../lead-row.ts';

export type ColumnKind = LeadColumnKind | 'integer';

/** Times are milliseconds since 1970, JSON is parsed. Otherwise as stored. */
export type Row = Readonly<Record<string, unknown>>;

export interface Column {
  readonly name: string;
  readonly kind: ColumnKind;
}

export interface Table {
  readonly name: string;
  /** Rows are in the order of these columns, by their bytes. */
  readonly key: readonly Column[];
  readonly columns: readonly Column[];
  /** Rows are tallied for each company, not for the table: it comes first in the key. */
  readonly groupBy?: 'company_id';
}

function defineTable(name: string, key: readonly string[], kinds: Record<string, ColumnKind>): Table {
  const columns = Object.entries(kinds).map(([name, kind]) => ({ name, kind }));
  return { name, columns, key: columns.filter((column) => key.includes(column.name)) };
}

/** A lead has two names: the key that sorts it, and its id, by which people know it. */
export function identify({ key, columns }: Table, row: Row): Row {
  const telling = columns.filter((column) => key.includes(column) || column.name === 'id');
  return Object.fromEntries(telling.map(({ name }) => [name, row[name]]));
}

/** The same text for the same values, whichever database gave them: one of them keeps no order of keys in JSON. */
export const canonical = ({ columns }: Table, row: Row): string =>
  JSON.stringify(columns.map(({ name, kind }) => (kind === 'json' ? sorted(row[name]) : row[name])));

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key])]));
}

export const COMPANIES = defineTable('companies', ['id'], { id: 'text', name: 'text' });

const STATUSES = defineTable('statuses', ['company_id', 'value'], {
  company_id: 'text',
  value: 'text',
  label: 'text',
  color: 'text',
  final: 'boolean',
  position: 'integer',
});

const BRANCHES = defineTable('branches', ['company_id', 'id'], {
  company_id: 'text',
  id: 'text',
  name: 'text',
});

const DEPARTMENTS = defineTable('departments', ['company_id', 'id'], {
  company_id: 'text',
  id: 'text',
  branch_id: 'text',
  name: 'text',
});

const ISSUED_TOKENS = defineTable('issued_tokens', ['id'], {
  id: 'text',
  user_id: 'text',
  name: 'text',
  issued_at: 'time',
  expires_at: 'time',
});

const REVOKED_TOKENS = defineTable('revoked_tokens', ['token_id'], { token_id: 'text', revoked_at: 'time' });

export const LEADS: Table = {
  ...defineTable('leads', ['company_id', 'created_at'], {
    // What identifies the lead comes first.
    company_id: 'text',
    created_at: 'time',
    id: 'text',
    branch_id: 'text',
    department_id: 'text',
    ...Object.fromEntries(LEAD_COLUMNS.map(({ column, kind }) => [column, kind])),
  }),
  groupBy: 'company_id',
};

/** Until they are there, nobody can poll: they come last, when all else has been verified. */
export const USERS = defineTable('users', ['id'], {
  id: 'text',
  company_id: 'text',
  email: 'text',
  name: 'text',
  plan: 'text',
  access_level: 'text',
  branch_id: 'text',
  department_id: 'text',
});

/** Each after those that it refers to. */
export const PLACES: readonly Table[] = [STATUSES, BRANCHES, DEPARTMENTS];
export const TOKENS: readonly Table[] = [ISSUED_TOKENS, REVOKED_TOKENS];
export const BEFORE_USERS: readonly Table[] = [COMPANIES, ...PLACES, ...TOKENS, LEADS];
export const TABLES: readonly Table[] = [...BEFORE_USERS, USERS];
