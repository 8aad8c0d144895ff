/** The columns of a lead and the mapping between rows and leads, from the table of lead fields. */
import { LEAD_FIELDS, type LeadField, type LeadFieldName, type LeadFieldTable } from '@leadtap/contract';
import type { LeadFields, LeadRecord, StoredLead } from './record.ts';

/** How a column is kept: `time` is milliseconds, `texts` a list of texts. */
export type ColumnKind = 'text' | 'boolean' | 'time' | 'json' | 'texts';

export interface LeadColumn<Name extends LeadFieldName = LeadFieldName> {
  readonly field: Name;
  readonly column: string;
  readonly kind: ColumnKind;
}

const KINDS: Readonly<Record<LeadField['type'], ColumnKind>> = {
  id: 'text',
  triggerId: 'text',
  text: 'text',
  email: 'text',
  instant: 'time',
  timeOfDay: 'text',
  statusCode: 'text',
  status: 'text',
  object: 'json',
  urls: 'texts',
  boolean: 'boolean',
};

const toColumns = (field: LeadField): LeadColumn[] =>
  field.column === undefined ? [] : [{ field: field.name, column: field.column, kind: KINDS[field.type] }];

/** The columns of the table `leads` that hold fields. Beside them it has company_id, branch_id and department_id. */
export const LEAD_COLUMNS: readonly LeadColumn[] = LEAD_FIELDS.filter(({ joined }) => !joined).flatMap(
  toColumns,
);

/** What a new lead has where its writer gives nothing. */
export const DEFAULT_LEAD_FIELDS = Object.fromEntries<unknown>(
  LEAD_FIELDS.filter((field) => field.default !== undefined).map((field) => [field.name, field.default]),
) as LeadFields;

const isOfFields = (column: LeadColumn): column is LeadColumn<keyof LeadFields> =>
  column.field in DEFAULT_LEAD_FIELDS;

/** The columns that hold `LeadFields`. */
export const FIELD_COLUMNS: readonly LeadColumn<keyof LeadFields>[] = LEAD_COLUMNS.filter(isOfFields);

const RECORD_COLUMNS = LEAD_FIELDS.filter(({ name }) => name !== 'statusValue').flatMap(toColumns);

/** The part of a lead by its columns instead of its fields. */
type RowOf<Part> = {
  [Name in keyof Part & LeadFieldName as LeadFieldTable[Name]['column'] & string]: Part[Name];
};

export type LeadFieldsRow = RowOf<LeadFields>;

/** A lead as a page of it is read: with the names that its status and places have. */
export type LeadRow = RowOf<LeadRecord> & {
  status_value: string;
  status_label: string;
  status_color: string;
  status_final: boolean;
};

/** A lead with the ids of its places. */
export type StoredLeadRow = LeadRow & {
  company_id: string;
  branch_id: string | null;
  department_id: string | null;
};

type Values = Record<string, unknown>;

/** A loop, because `Object.fromEntries` takes three times as long: 0.5 ms for a page of 100 leads. */
function rename(source: Values, names: readonly (readonly [from: string, to: string])[]): Values {
  const target: Values = {};
  for (const [from, to] of names) target[to] = source[from];
  return target;
}

const TO_FIELDS = FIELD_COLUMNS.map(({ field, column }) => [column, field] as const);
const TO_RECORD = RECORD_COLUMNS.map(({ field, column }) => [column, field] as const);
const TO_ROW = FIELD_COLUMNS.map(({ field, column }) => [field, column] as const);

export const toLeadFields = (row: LeadFieldsRow): LeadFields => rename(row, TO_FIELDS) as LeadFields;

export function toLeadRecord(row: LeadRow): LeadRecord {
  const { status_value: value, status_label: label, status_color: color, status_final: final } = row;
  const record = rename(row, TO_RECORD);
  record['status'] = { value, label, color, final };
  return record as LeadRecord;
}

export const toLeadFieldsRow = (fields: LeadFields): LeadFieldsRow => rename(fields, TO_ROW) as LeadFieldsRow;

export const toStoredLead = (row: StoredLeadRow, lead: LeadRecord = toLeadRecord(row)): StoredLead => ({
  companyId: row.company_id,
  branchId: row.branch_id,
  departmentId: row.department_id,
  lead,
});
