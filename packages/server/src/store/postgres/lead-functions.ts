/** The SQL functions that name every column of a lead: `lead-functions.sql` with the columns of the table of lead fields. */
import { readFileSync } from 'node:fs';
import { FIELD_COLUMNS, LEAD_COLUMNS } from '../../leads/row.ts';

const COLUMN_LISTS: Readonly<Record<string, readonly string[]>> = {
  content_updates: FIELD_COLUMNS.map(({ column }) => `${column} = coalesce(NEW.${column}, l.${column})`),
  page_columns: LEAD_COLUMNS.map(({ column, kind }) =>
    kind === 'time' ? `leadtap.to_ms(l.${column}) AS ${column}` : `l.${column}`,
  ),
  lead_columns: LEAD_COLUMNS.map(({ column }) => `o.${column}`),
};

export function renderLeadFunctions(folder: URL): string {
  const template = readFileSync(new URL('lead-functions.sql', folder), 'utf8');
  return template.replace(/\{\{(\w+)\}\}/g, (_match, name: string) => {
    const columns = COLUMN_LISTS[name];
    if (!columns) throw new Error(`lead-functions.sql names the unknown list ${name}`);
    return columns.join(', ');
  });
}
