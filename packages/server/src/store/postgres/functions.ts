/** `functions.sql` with the columns of the table of lead fields, and other SQL that names every column of a lead. */
import { readFileSync } from 'node:fs';
import { type ColumnKind, FIELD_COLUMNS, LEAD_COLUMNS } from '../../leads/row.ts';
import { LEAD_JSON, NAMES, PAGE } from './lead-page.ts';
import { RECORD_TYPES } from './sql.ts';

/** What an update of a lead may change. */
const CONTENT: readonly { readonly column: string; readonly kind: ColumnKind }[] = [
  ...['branch_id', 'department_id', 'status_value'].map((column) => ({ column, kind: 'text' as const })),
  ...FIELD_COLUMNS,
];

const CONTENT_COLUMNS = CONTENT.map(({ column }) => column);
const BATCH_CONTENT = CONTENT.map(({ column, kind }) =>
  kind === 'time' ? `leadtap.from_ms(b.${column})` : `b.${column}`,
);
const BATCH_TYPES = [
  ...['company_id text', 'id text', 'created_at bigint'],
  ...CONTENT.map(({ column, kind }) => `${column} ${RECORD_TYPES[kind]}`),
];

/** Not a function, which keeps its plan: one that was made while the table was empty could read all leads of the company. */
export const UPDATE_LEADS = `UPDATE leadtap.leads AS l SET (${CONTENT_COLUMNS.join(', ')}) = ROW (${BATCH_CONTENT.join(', ')})
  FROM json_to_recordset($1) AS b (${BATCH_TYPES.join(', ')}) WHERE l.company_id = b.company_id AND l.id = b.id`;

const COLUMN_LISTS: Readonly<Record<string, readonly string[]>> = {
  content_updates: FIELD_COLUMNS.map(({ column }) => `${column} = coalesce(NEW.${column}, l.${column})`),
  page_columns: LEAD_COLUMNS.map(({ column, kind }) =>
    kind === 'time' ? `leadtap.to_ms(l.${column}) AS ${column}` : `l.${column}`,
  ),
  content: CONTENT_COLUMNS,
  stored_content: CONTENT.map(({ column, kind }) =>
    kind === 'time' ? `leadtap.to_ms(o.${column}) AS ${column}` : `o.${column}`,
  ),
  batch_content: BATCH_CONTENT,
  batch_types: BATCH_TYPES,
};

const PARTS: Readonly<Record<string, string>> = { page: PAGE, lead_json: LEAD_JSON, ...NAMES };

export function renderFunctions(folder: URL): string {
  const template = readFileSync(new URL('functions.sql', folder), 'utf8');
  return template.replace(/\{\{(\w+)\}\}/g, (_match, name: string) => {
    const part = PARTS[name] ?? COLUMN_LISTS[name]?.join(', ');
    if (part === undefined) throw new Error(`functions.sql names the unknown part ${name}`);
    return part;
  });
}
