/** How SQLite keeps the fields of a lead: JSON and lists as text, a boolean as 0 or 1. */

import type { LeadFields, LeadRecord } from '../../leads/record.ts';
import {
  DEFAULT_LEAD_FIELDS,
  FIELD_COLUMNS,
  LEAD_COLUMNS,
  type LeadRow,
  toLeadRecord,
} from '../../leads/row.ts';
import { UnusableDatabaseError } from '../errors.ts';
import type { SqlValue } from './connection.ts';

/** The columns of a page of leads, for a query that joins companies c, statuses s, branches b and departments d. */
export const PAGE_COLUMNS = [
  ...LEAD_COLUMNS.map(({ column }) => `l.${column}`),
  ...['s.label AS status_label', 's.color AS status_color', 's.final AS status_final'],
  ...['c.name AS company_name', 'b.name AS branch_name', 'd.name AS department_name'],
].join(', ');

type SqlRow = Record<string, unknown>;

function encode(value: unknown): SqlValue {
  if (typeof value === 'boolean') return Number(value);
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : (value as SqlValue);
}

/** The values of the columns, in the order of `FIELD_COLUMNS`; undefined where nothing is given. */
export const encodeFields = (fields: Partial<LeadFields>): (SqlValue | undefined)[] =>
  FIELD_COLUMNS.map(({ field }) => (fields[field] === undefined ? undefined : encode(fields[field])));

export const FIELD_DEFAULTS = FIELD_COLUMNS.map(({ field }) => encode(DEFAULT_LEAD_FIELDS[field]));

const DECODERS = { boolean: (value: unknown) => value === 1, json: parse, texts: parse };

const ENCODED_COLUMNS = LEAD_COLUMNS.flatMap(({ column, kind }) =>
  kind === 'text' || kind === 'time' ? [] : [{ column, decode: DECODERS[kind] }],
);

/** Decodes the row in place. */
export function decodeLead(row: SqlRow): LeadRecord {
  for (const { column, decode } of ENCODED_COLUMNS) row[column] = decode(row[column]);
  row['status_final'] = row['status_final'] === 1;
  return toLeadRecord(row as LeadRow);
}

/** Only JSON is ever written, so anything else is damage that SQLite does not detect. */
function parse(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch (error) {
    throw new UnusableDatabaseError('the database file is damaged', { cause: error });
  }
}
