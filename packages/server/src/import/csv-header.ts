/** The header row of CSV: which field each column has. Columns with other names are mapped. */
import { IMPORT_FIELDS, LEAD_FIELDS } from '@leadtap/contract';
import { type Assignment, assignFields } from '../leads/assign-fields.ts';
import { CONTACT_FIELDS } from '../leads/field-names.ts';
import { isBlank } from '../leads/field-readers.ts';
import {
  CUSTOM_FIELD_PREFIX,
  fieldProblem,
  formatIssue,
  isWholeCustomFields,
  requiredFields,
  type ValidationIssue,
} from '../leads/parse-lead.ts';
import { quote, quoteForShell } from '../lib/escape.ts';
import { type ColumnMap, type HeaderOptions, UnusableFileError } from './input-line.ts';
import { describeTimes } from './time-hints.ts';

export const BAD_HEADER = 'has a header row that cannot be used';

const FIELD_BY_LOWER_CASE: ReadonlyMap<string, string> = new Map(
  IMPORT_FIELDS.map(({ name }) => [name.toLowerCase(), name]),
);

/** The field with this name in any case; other names are unchanged. */
function canonicalName(column: string): string {
  const lower = column.toLowerCase();
  if (lower.startsWith(CUSTOM_FIELD_PREFIX.toLowerCase()))
    return `${CUSTOM_FIELD_PREFIX}${column.slice(CUSTOM_FIELD_PREFIX.length)}`;
  return FIELD_BY_LOWER_CASE.get(lower) ?? column;
}

/** The map with names of columns in any case. A name in the given case has priority. */
function createLookup(columnMap: ColumnMap = new Map()): (column: string) => string | undefined {
  const byLowerCase = new Map([...columnMap].map(([column, field]) => [column.trim().toLowerCase(), field]));
  return (column) => columnMap.get(column) ?? byLowerCase.get(column.toLowerCase());
}

/** Fields that Leadtap sets. `status` is also a name that other programs use. */
const isSetByLeadtap = (column: string): boolean =>
  LEAD_FIELDS.some(
    ({ name, import: rule }) =>
      name === column && name !== 'status' && (rule === undefined || rule.historicalOnly),
  );

interface Column {
  /** Empty if it has none. */
  readonly name: string;
  /** The field that the map or the name gives it; empty if it is ignored. Undefined: none. */
  readonly given: string | undefined;
  /** With the suggestion, if it has no field. */
  readonly suggested: Assignment;
  /** No option can name a column that has no name, or that of another. A map ignores the case of names. */
  readonly isMappable: boolean;
}

/** The field of each column; undefined if the column is ignored. Throws with all errors of the header. */
export function fieldsOfColumns(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  options: HeaderOptions,
): readonly (string | undefined)[] {
  const columns = readColumns(header, rows, options);
  requireNames(columns);
  const isAuto = options.isMapAuto === true && columns.some(({ given }) => given === undefined);
  if (isAuto) requireKnownName(columns);
  const fields = columns.map(({ given, suggested }) => (isAuto ? suggested.field : given));
  const issues = [...findColumnIssues(columns, fields, options), ...findMissing(fields, options)];
  const times = describeTimes(
    columns.flatMap(({ name, suggested: { formats } }) => (formats ? [{ name, formats }] : [])),
    options,
  );
  if (issues.length > 0)
    throw new UnusableFileError(
      BAD_HEADER,
      ...issues.map(formatIssue),
      ...describeFix(columns, fields, times.flags, options),
      ...times.hints,
    );
  if (isAuto && times.flags.length > 0)
    throw new UnusableFileError(
      'has times in a format that must be named',
      `Add ${times.flags.join(' ')}`,
      ...times.hints,
    );
  if (isAuto) {
    requireContact(columns, fields);
    noteUse(columns, options);
  }
  return fields.map((field) => (field === '' ? undefined : field));
}

function readColumns(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  options: HeaderOptions,
): readonly Column[] {
  const names = header.map((column) => (isBlank(column) ? '' : column.trim()));
  const mappedField = createLookup(options.columnMap);
  const lower = names.map((name) => name.toLowerCase());
  const given = names.map((name, index) => {
    const field = mappedField(name) ?? fieldOfName(name, options);
    // With --map auto, the second column of a name gets another field.
    const isRepeated = lower.indexOf(lower[index] ?? '') < index;
    return options.isMapAuto && isRepeated && field !== '' ? undefined : field;
  });
  const labels = names.map((name, index) => {
    const values = rows.map((row) => row[index] ?? '').filter((cell) => cell !== '');
    const isIgnored = name === '' ? values.length === 0 : isSetByLeadtap(name);
    const field = given[index] ?? (isIgnored ? '' : undefined);
    return { name: name || `column ${index + 1}`, field, values };
  });
  return assignFields(labels, options).map((suggested, index) => {
    const name = names[index] ?? '';
    const isNamedOnce = lower.indexOf(lower[index] ?? '') === lower.lastIndexOf(lower[index] ?? '');
    // No shell can pass control characters on one line.
    const isMappable = name !== '' && isNamedOnce && !/\p{Cc}/u.test(name);
    return { name, given: given[index], suggested, isMappable };
  });
}

function fieldOfName(column: string, options: HeaderOptions): string | undefined {
  const name = canonicalName(column);
  if (isWholeCustomFields(name)) return name;
  return column === '' || fieldProblem(name, options) !== undefined ? undefined : name;
}

const ADD_NAMES = 'add a line above it that names the columns, such as firstName,lastName,email,phone1';

/** An e-mail address, a phone number or a time. */
const VALUE = /^[^\s@]+@[^\s@]+$|^[+(]?\d[\d\s()./:-]{5,}$/;

/** Throws if the first line of the file is a lead. */
function requireNames(columns: readonly Column[]): void {
  const value = columns.find(({ name, given }) => given === undefined && VALUE.test(name))?.name;
  if (value === undefined) return;
  throw new UnusableFileError(
    BAD_HEADER,
    `It looks like a lead, because it has ${quote(value)}: ${ADD_NAMES}`,
    `If that is the name of a column, add ${mapFlag(value, CUSTOM_FIELD_PREFIX + value)}`,
  );
}

function requireKnownName(columns: readonly Column[]): void {
  if (columns.some(({ given, suggested }) => given !== undefined || suggested.reason === 'name')) return;
  throw new UnusableFileError(
    'has no column that --map auto knows',
    `If its first line is a lead: ${ADD_NAMES}`,
    `Otherwise name the field of a column, such as ${mapFlag(columns.find(({ name }) => name)?.name ?? '', 'fullName')}`,
  );
}

/** An import of such leads would succeed, and be of no use. */
function requireContact(columns: readonly Column[], fields: readonly (string | undefined)[]): void {
  if (CONTACT_FIELDS.some((field) => fields.includes(field))) return;
  const found = columns.filter(({ given, suggested }) => given === undefined && suggested.field !== '');
  const names = found.map(({ name }) => quote(name)).join(', ');
  const mappable = found.filter(({ isMappable }) => isMappable);
  throw new UnusableFileError(
    'has no column that --map auto knows as a name, an e-mail address or a phone number',
    `Name one of ${names} with fullName, email or phone1, such as ${mapFlag(mappable[0]?.name ?? 'COLUMN', 'fullName')}`,
    ...(mappable.length === found.length ? [`If it has none, replace --map auto by ${mapFlags(found)}`] : []),
  );
}

function findColumnIssues(
  columns: readonly Column[],
  fields: readonly (string | undefined)[],
  options: HeaderOptions,
): ValidationIssue[] {
  return columns.flatMap((column, index) => {
    const field = fields[index];
    const name = column.name || `column ${index + 1}`;
    const first = columns[fields.indexOf(field)];
    if (field === '') return [];
    if (field === undefined) return { field: name, detail: explainColumn(column, options) };
    if (isWholeCustomFields(field)) return { field: name, detail: fieldProblem(field, options) ?? '' };
    return first === column ? [] : { field: name, detail: repeated(field, first?.name ?? '') };
  });
}

function explainColumn({ name, suggested }: Column, options: HeaderOptions): string {
  if (name === '') return 'has no name; name it or remove it';
  if (suggested.reason === 'name') return `is not a field of a lead; did you mean ${suggested.field}?`;
  if (suggested.reason === 'creation-time')
    return 'is when the lead was created: to import leads of the past with these times, add --historical; new leads get their times from Leadtap';
  if (suggested.reason === 'other') return 'is not a field of a lead; put it under customFields';
  return fieldProblem(canonicalName(name), options) ?? '';
}

const repeated = (field: string, first: string): string =>
  first === field
    ? 'is there twice; remove one of the two columns, or add --map auto to keep it as a custom field'
    : `${field} is already the field of column ${quote(first)}; map one of them to another field`;

const findMissing = (
  fields: readonly (string | undefined)[],
  { companyId, ...options }: HeaderOptions,
): ValidationIssue[] =>
  requiredFields(options)
    .filter((field) => !fields.includes(field) && !(field === 'companyId' && companyId !== undefined))
    .map((field) => {
      const orCompany = field === 'companyId' ? ', or --company ID' : '';
      return { field, detail: `is missing; add this column${orCompany}` };
    });

const mapFlag = (column: string, field: string): string => `--map ${quoteForShell(`${column}=${field}`)}`;

const mapFlags = (columns: readonly Column[]): string =>
  columns.map(({ name, suggested }) => mapFlag(name, suggested.field)).join(' ');

/** Notes what `--map auto` does with the columns that had no field. */
function noteUse(columns: readonly Column[], { facts }: HeaderOptions): void {
  const found = columns.filter(({ given }) => given === undefined);
  const mappable = found.filter(({ isMappable }) => isMappable);
  const others = found
    .filter(({ isMappable, suggested }) => !isMappable && suggested.field !== '')
    .map((column) => `column ${columns.indexOf(column) + 1} as ${quote(column.suggested.field)}`);
  const use = [...(mappable.length > 0 ? [`as with ${mapFlags(mappable)}`] : []), ...others].join(', ');
  if (use !== '') facts.notes.push(`The columns of ${facts.name} are used ${use}`);
}

/** The options to add. */
function describeFix(
  columns: readonly Column[],
  fields: readonly (string | undefined)[],
  timeFlags: readonly string[],
  { companyId, onlyCompanyId }: HeaderOptions,
): string[] {
  const isCompanyMissing = companyId === undefined && !fields.includes('companyId');
  const unknown = columns.filter((_column, index) => fields[index] === undefined);
  const flags = [
    ...(isCompanyMissing && onlyCompanyId !== undefined ? [`--company ${quoteForShell(onlyCompanyId)}`] : []),
    ...(unknown.length > 0 ? ['--map auto'] : []),
    ...timeFlags,
  ];
  if (flags.length === 0) return [];
  const isSameAsMap = unknown.length > 0 && unknown.every(({ isMappable }) => isMappable);
  return [
    `To use the file as it is, add ${flags.join(' ')}`,
    ...(isSameAsMap ? [`--map auto is short for ${mapFlags(unknown)}`] : []),
  ];
}
