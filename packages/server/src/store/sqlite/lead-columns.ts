/** How SQLite keeps the fields of a lead: JSON and lists as text, a boolean as 0 or 1. */

import { leadJson } from '../../leads/lead-json.ts';
import type { LeadFields, LeadRecord } from '../../leads/record.ts';
import {
  DEFAULT_LEAD_FIELDS,
  FIELD_COLUMNS,
  LEAD_COLUMNS,
  type LeadRow,
  toLeadRecord,
} from '../../leads/row.ts';
import { UnusableDatabaseError } from '../../sql/errors.ts';
import type { SqlValue } from './connection.ts';

/** The columns of a page of leads, for a query that joins companies c, statuses s, branches b and departments d. */
export const PAGE_COLUMNS = [
  ...LEAD_COLUMNS.map(({ column }) => `l.${column}`),
  ...['s.label AS status_label', 's.color AS status_color', 's.final AS status_final'],
  ...['c.name AS company_name', 'b.name AS branch_name', 'd.name AS department_name'],
].join(', ');

const toJsonBoolean = (value: string): string => `json(iif(${value}, 'true', 'false'))`;

const toJsonObject = (entries: readonly (readonly [name: string, json: string])[]): string =>
  `json_object(${entries.map(([name, json]) => `'${name}', ${json}`).join(', ')})`;

/** The columns of a rendered lead, for the same query. `json` fails on text that is not JSON: the file is damaged. */
export const RENDERED_COLUMNS = `l.created_at AS "createdAt", ${leadJson({
  toJson(type, value) {
    if (type === 'instant') return `strftime('%Y-%m-%dT%H:%M:%fZ', ${value} / 1000.0, 'unixepoch')`;
    if (type === 'boolean') return toJsonBoolean(value);
    return type === 'object' || type === 'urls' ? `json(${value})` : value;
  },
  status: toJsonObject([
    ['value', 's.value'],
    ['label', 's.label'],
    ['color', 's.color'],
    ['final', toJsonBoolean('s.final')],
  ]),
  toObject: toJsonObject,
  joined: { company_name: 'c.name', branch_name: 'b.name', department_name: 'd.name' },
})} AS json`;

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
