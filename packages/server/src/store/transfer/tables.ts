/** The tables of both stores, the checksums that compare them, and the values that PostgreSQL cannot store. */
import { createHash } from 'node:crypto';
import { toUSVString } from 'node:util';
import { CONNECTIONS as CONNECTION_TABLE } from '../../connections/record-sql.ts';
import { HOOKS as HOOK_TABLE } from '../../hooks/sql.ts';
import { REFUSED_LEADS as REFUSED_LEAD_TABLE } from '../../intake/refused-sql.ts';
import { LEAD_COLUMNS, type ColumnKind as LeadColumnKind } from '../../leads/row.ts';
import { isJsonObject } from '../../lib/json.ts';
import { columnTypesOf } from '../../sql/sql.ts';

export type ColumnKind = LeadColumnKind | 'integer';

/** Times are milliseconds since 1970 and JSON is parsed; other values are as stored. */
export type Row = Readonly<Record<string, unknown>>;

export interface Column {
  readonly name: string;
  readonly kind: ColumnKind;
}

export interface Table {
  readonly name: string;
  /** Rows are sorted by these columns, compared by their bytes. */
  readonly key: readonly Column[];
  readonly columns: readonly Column[];
}

/** The columns of the key are texts, and so are those of `texts`. */
function defineTable(
  name: string,
  key: readonly string[],
  texts: readonly string[],
  others: Readonly<Record<string, ColumnKind>> = {},
  order: readonly string[] = key,
): Table {
  const kinds = {
    ...Object.fromEntries([...key, ...texts].map((text) => [text, 'text' as const])),
    ...others,
  };
  const columns = Object.entries<ColumnKind>(kinds).map(([name, kind]) => ({ name, kind }));
  return { name, columns, key: order.flatMap((name) => columns.filter((column) => column.name === name)) };
}

/** The columns that identify a row to the operator: its key and its id. */
export function identify({ key, columns }: Table, row: Row): Row {
  const shown = columns.filter((column) => key.includes(column) || column.name === 'id');
  return Object.fromEntries(shown.map(({ name }) => [name, row[name]]));
}

/** The same text for the same values from either database. JSON keys are sorted, because PostgreSQL does not keep their order. */
export const canonical = ({ columns }: Table, row: Row): string =>
  JSON.stringify(columns.map(({ name, kind }) => (kind === 'json' ? sorted(row[name]) : row[name])));

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key])]));
}

const PLACE = ['company_id', 'id'];

export const COMPANIES = defineTable('companies', ['id'], ['name']);
const BRANCHES = defineTable('branches', PLACE, ['name']);
const DEPARTMENTS = defineTable('departments', PLACE, ['branch_id', 'name']);
const STATUSES = defineTable('statuses', ['company_id', 'value'], ['label', 'color'], {
  final: 'boolean',
  position: 'integer',
});
const ISSUED_TOKENS = defineTable(
  'issued_tokens',
  ['id'],
  ['user_id', 'name', 'scope', 'key_id', 'settings', 'replaced_by'],
  { issued_at: 'time', expires_at: 'time', used_at: 'time' },
);
const REVOKED_TOKENS = defineTable('revoked_tokens', ['token_id'], [], { revoked_at: 'time' });
const ERASED_LEADS = defineTable('erased_leads', ['company_id', 'id_hash'], [], { erased_at: 'time' });
/** Copied after the leads: a move that is continued expects rows that have not changed, and old keys are removed. */
const IDEMPOTENCY_KEYS = defineTable(
  'idempotency_keys',
  ['company_id', 'key_hash'],
  ['body_hash', 'results'],
  {
    used_at: 'time',
  },
);

/** Copied after the leads: its rows change with every event, and a move that is continued expects rows that have not changed. */
const HOOKS = defineTable('hooks', ['id'], [], columnTypesOf(HOOK_TABLE));

/** What is recorded of connections: copied after the leads, like hooks. Which processes serve is known of one database alone. */
const CONNECTION = ['connection'];
const CONNECTION_TABLES: readonly Table[] = [
  defineTable('connections', ['id'], ['key', 'before_level', 'before_branch', 'before_department'], {
    ...columnTypesOf(CONNECTION_TABLE),
    is_access_changed: 'boolean',
  }),
  defineTable('deliveries', [], [], { created_at: 'time', connection: 'text', sent_at: 'time' }, [
    'created_at',
    'connection',
  ]),
  defineTable('missed', CONNECTION, ['why'], { created_at: 'time', missed_at: 'time', handled_at: 'time' }, [
    'connection',
    'created_at',
  ]),
  defineTable('pending_leads', CONNECTION, ['why', 'message'], { created_at: 'time', since: 'time' }, [
    'connection',
    'created_at',
  ]),
  defineTable('lost_requests', ['connection', 'why'], [], {
    requests: 'integer',
    first_at: 'time',
    last_at: 'time',
  }),
  defineTable(
    'activity',
    CONNECTION,
    ['kind', 'reason', 'details'],
    {
      ...{
        first_at: 'time',
        last_at: 'time',
        times: 'integer',
        leads: 'integer',
        after: 'time',
        through: 'time',
      },
    },
    ['connection', 'first_at'],
  ),
  defineTable(
    'activity_hours',
    CONNECTION,
    [],
    { hour: 'integer', leads: 'integer', updated: 'integer', failed: 'integer' },
    ['connection', 'hour'],
  ),
  defineTable('lead_moves', ['company_id'], [], { created_at: 'time', moved_at: 'time', is_new: 'boolean' }, [
    'company_id',
    'created_at',
  ]),
  defineTable('unassigned', ['company_id'], [], { created_at: 'time', since: 'time' }, [
    'company_id',
    'created_at',
  ]),
  defineTable('audits', ['company_id'], ['runs'], { audited_at: 'time', assigned_through: 'time' }),
];

/** Copied after the leads, like hooks: its rows change with every refused request. */
const REFUSED_LEADS = defineTable('refused_leads', ['id'], [], columnTypesOf(REFUSED_LEAD_TABLE));

export const LEADS = defineTable(
  'leads',
  ['company_id', 'created_at'],
  ['id', 'branch_id', 'department_id'],
  Object.fromEntries(LEAD_COLUMNS.map(({ column, kind }) => [column, kind])),
);

/** Copied last, when the other tables are verified: polls fail until then, so no client misses a lead. */
export const USERS = defineTable(
  'users',
  ['id'],
  ['company_id', 'email', 'name', 'plan', 'access_level', 'branch_id', 'department_id'],
);

/** In the order of copying: each table after those that it refers to. */
export const TABLES: readonly Table[] = [
  ...[COMPANIES, STATUSES, BRANCHES, DEPARTMENTS],
  ...[ISSUED_TOKENS, REVOKED_TOKENS, ERASED_LEADS],
  ...[LEADS, IDEMPOTENCY_KEYS, HOOKS, ...CONNECTION_TABLES, REFUSED_LEADS, USERS],
];

export interface TableChecksum {
  readonly rows: number;
  /** Over all columns of all rows. */
  readonly sha256: string;
}

/** Counts and hashes rows in the order of the table's key. */
export class ChecksumBuilder {
  readonly #table: Table;
  readonly #hash = createHash('sha256');
  #rows = 0;

  constructor(table: Table) {
    this.#table = table;
  }

  add(row: Row): void {
    this.#hash.update(`${canonical(this.#table, row)}\n`);
    this.#rows += 1;
  }

  finish(): TableChecksum {
    return { rows: this.#rows, sha256: this.#hash.digest('hex') };
  }
}

/** A value that PostgreSQL cannot store. */
export interface UnsupportedValue {
  readonly table: string;
  /** The columns that identify the row. */
  readonly row: Row;
  readonly column: string;
  readonly reason: 'characters' | 'time';
}

/** PostgreSQL stores no NUL in text. Half of a surrogate pair is not valid Unicode, but JSON can contain one. */
const isUnsupportedText = (text: string): boolean => text.includes('\0') || toUSVString(text) !== text;

function hasUnsupportedText(value: unknown): boolean {
  if (typeof value === 'string') return isUnsupportedText(value);
  if (Array.isArray(value)) return value.some(hasUnsupportedText);
  if (!isJsonObject(value)) return false;
  return Object.entries(value).some(([key, inner]) => isUnsupportedText(key) || hasUnsupportedText(inner));
}

/** The years of PostgreSQL's schema: those that ISO 8601 writes with four digits. */
const MIN_TIME = Date.parse('0000-01-01T00:00:00.000Z');
const MAX_TIME = Date.parse('9999-12-31T23:59:59.999Z');

function findReason(kind: ColumnKind, value: unknown): UnsupportedValue['reason'] | undefined {
  if (kind === 'time')
    return typeof value === 'number' && (value < MIN_TIME || value > MAX_TIME) ? 'time' : undefined;
  return hasUnsupportedText(value) ? 'characters' : undefined;
}

export function findUnsupportedValues(table: Table, row: Row): UnsupportedValue[] {
  return table.columns.flatMap(({ name: column, kind }) => {
    const reason = findReason(kind, row[column]);
    return reason === undefined ? [] : [{ table: table.name, row: identify(table, row), column, reason }];
  });
}
