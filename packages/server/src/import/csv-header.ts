/** The header row of CSV: which field each column has. Other names than those of the fields are mapped. */
import { IMPORT_FIELDS } from '@leadtap/contract';
import { quote } from '../escape.ts';
import { isCreationTime, type Suggestion, suggestFields } from '../leads/column-suggestions.ts';
import { isBlank } from '../leads/field-readers.ts';
import {
  CUSTOM_FIELD_PREFIX,
  explainUnknownField,
  formatIssue,
  isImportField,
  type ParseOptions,
  requiredFields,
  type ValidationIssue,
} from '../leads/parse-lead.ts';
import { type ColumnMap, type HeaderOptions, type Separator, UnusableFileError } from './input-line.ts';

export const BAD_HEADER = 'has a header row that cannot be used';

const isWholeCustomFields = (field: string): boolean =>
  field === 'customFields' ||
  (field.startsWith(CUSTOM_FIELD_PREFIX) && isBlank(field.slice(CUSTOM_FIELD_PREFIX.length)));

/** What is wrong with a field name; undefined if a column may have it. */
export function columnProblem(field: string, options: ParseOptions): string | undefined {
  if (isWholeCustomFields(field))
    return 'give each custom field a column of its own, such as customFields.source';
  const isKnown = field.startsWith(CUSTOM_FIELD_PREFIX) || isImportField(field, options);
  return isKnown ? undefined : explainUnknownField(field);
}

const FIELD_BY_LOWER_CASE: ReadonlyMap<string, string> = new Map(
  IMPORT_FIELDS.map(({ name }) => [name.toLowerCase(), name]),
);
const LOWER_CASE_PREFIX = CUSTOM_FIELD_PREFIX.toLowerCase();

/** The field with this name in any case; other names are unchanged. */
function canonicalName(column: string): string {
  const lower = column.toLowerCase();
  if (lower.startsWith(LOWER_CASE_PREFIX))
    return `${CUSTOM_FIELD_PREFIX}${column.slice(CUSTOM_FIELD_PREFIX.length)}`;
  return FIELD_BY_LOWER_CASE.get(lower) ?? column;
}

/** The map with names of columns in any case. A name in the given case has priority. */
function createLookup(columnMap: ColumnMap = new Map()): (column: string) => string | undefined {
  const byLowerCase = new Map([...columnMap].map(([column, field]) => [column.trim().toLowerCase(), field]));
  return (column) => columnMap.get(column) ?? byLowerCase.get(column.toLowerCase());
}

/** The field of each column; undefined if the column is ignored. Throws with all errors of the header. */
export function fieldsOfColumns(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  options: HeaderOptions,
): readonly (string | undefined)[] {
  const columns = header.map((column) => (isBlank(column) ? '' : column.trim()));
  const mappedField = createLookup(options.columnMap);
  const named = columns.map((column) => {
    const field = mappedField(column);
    if (field !== undefined) return field;
    const name = canonicalName(column);
    if (isWholeCustomFields(name)) return name;
    return column === '' || columnProblem(name, options) !== undefined ? undefined : name;
  });
  const given = options.isMapAuto ? named.map(unlessRepeated(columns, named)) : named;
  requireNames(columns, given);
  const hasUnknown = given.includes(undefined);
  const suggestion = hasUnknown ? suggestFields(columns, given, rows, options) : undefined;
  const isAuto = options.isMapAuto === true && suggestion !== undefined;
  const fields = isAuto ? suggestion.fields : given;
  if (isAuto && given.every((field) => field === undefined) && !fields.some(isLeadField))
    throw new UnusableFileError(
      'has no column that --map auto knows',
      `If its first line is a lead: ${ADD_NAMES}`,
      `Otherwise name the field of a column, such as ${mapFlag(columns.find(Boolean) ?? '', 'fullName')}`,
    );
  const issues = [...findColumnIssues(columns, fields, suggestion, options), ...findMissing(fields, options)];
  const flags = suggestion && describeMap(columns, given, suggestion);
  const timeFlags = suggestion ? describeTimes(columns, suggestion, options) : [];
  if (issues.length > 0)
    throw new UnusableFileError(
      BAD_HEADER,
      ...issues.map(formatIssue),
      ...describeFix(columns, fields, flags, timeFlags, options),
      ...(timeFlags.length > 0 ? explainTimes(suggestion, options) : []),
    );
  if (isAuto && timeFlags.length > 0)
    throw new UnusableFileError(
      'has times in a format that must be named',
      `Add ${timeFlags.join(' ')}`,
      ...explainTimes(suggestion, options),
    );
  if (isAuto && flags) options.onMapped?.(describeUse(flags), toColumnMap(columns, fields));
  return fields.map((field) => (field === '' ? undefined : field));
}

const isLeadField = (field: string | undefined): boolean =>
  field !== undefined && field !== '' && !field.startsWith(CUSTOM_FIELD_PREFIX);

const ADD_NAMES = 'add a line above it that names the columns, such as firstName,lastName,email,phone1';

/** An e-mail address, a phone number or a time. */
const VALUE = /^[^\s@]+@[^\s@]+$|^[+(]?\d[\d\s()./:-]{5,}$/;

/** Throws if the first line of the file is a lead. */
function requireNames(columns: readonly string[], given: readonly (string | undefined)[]): void {
  const value = columns.find((column, index) => given[index] === undefined && VALUE.test(column));
  if (value === undefined) return;
  throw new UnusableFileError(
    BAD_HEADER,
    `It looks like a lead, because it has ${quote(value)}: ${ADD_NAMES}`,
    `If that is the name of a column, add ${mapFlag(value, CUSTOM_FIELD_PREFIX + value)}`,
  );
}

/** The field of a column, unless its name is there before. Then `--map auto` finds another one. */
const unlessRepeated =
  (columns: readonly string[], named: readonly (string | undefined)[]) =>
  (field: string | undefined, index: number): string | undefined => {
    const first = named.indexOf(field);
    const isSameName = columns[first]?.toLowerCase() === columns[index]?.toLowerCase();
    return field !== '' && first < index && isSameName ? undefined : field;
  };

/** Without the columns that no map can name. */
const toColumnMap = (columns: readonly string[], fields: readonly (string | undefined)[]): ColumnMap =>
  new Map(
    [...columns.entries()]
      .filter(([, column]) => isNamedOnce(column, columns))
      .map(([index, column]) => [column, fields[index] ?? '']),
  );

/** A map ignores the case of names. */
const isNamedOnce = (column: string, columns: readonly string[]): boolean =>
  column !== '' && columns.filter((other) => other.toLowerCase() === column.toLowerCase()).length === 1;

function findColumnIssues(
  columns: readonly string[],
  fields: readonly (string | undefined)[],
  suggestion: Suggestion | undefined,
  options: HeaderOptions,
): ValidationIssue[] {
  const issues: ValidationIssue[] = [];
  for (const [index, column] of columns.entries()) {
    const field = fields[index];
    if (field === '') continue;
    const name = column === '' ? `column ${index + 1}` : column;
    const first = fields.indexOf(field);
    if (field !== undefined && isWholeCustomFields(field))
      issues.push({ field: name, detail: columnProblem(field, options) ?? '' });
    else if (field === undefined)
      issues.push({ field: name, detail: explainColumn(column, suggestion?.fields[index], options) });
    else if (first < index) issues.push({ field: name, detail: repeated(field, columns[first]) });
  }
  return issues;
}

function explainColumn(column: string, suggested: string | undefined, options: HeaderOptions): string {
  if (column === '') return 'has no name; name it or remove it';
  const problem = columnProblem(canonicalName(column), options) ?? '';
  if (suggested === undefined || suggested === '') return problem;
  if (!suggested.startsWith(CUSTOM_FIELD_PREFIX))
    return `is not a field of a lead; did you mean ${suggested}?`;
  if (!options.historical && isCreationTime(column))
    return 'is when the lead was created: to import leads of the past with these times, add --historical; new leads get their times from Leadtap';
  return 'is not a field of a lead; put it under customFields';
}

const repeated = (field: string, first: string | undefined): string =>
  first === field
    ? 'is there twice; remove one of the two columns, or add --map auto to keep it as a custom field'
    : `${field} is already the field of column ${quote(first ?? '')}; map one of them to another field`;

const findMissing = (
  fields: readonly (string | undefined)[],
  { companyId, ...options }: HeaderOptions,
): ValidationIssue[] =>
  requiredFields(options)
    .filter((field) => !fields.includes(field) && !(field === 'companyId' && companyId !== undefined))
    .map((field) => ({ field, detail: missing(field) }));

const missing = (field: string): string =>
  field === 'companyId' ? 'is missing; add this column, or --company ID' : 'is missing; add this column';

/** Quoted for a shell. */
const quoteForShell = (text: string): string =>
  /["$`\\!]/.test(text) ? `'${text.replaceAll("'", "'\\''")}'` : `"${text}"`;

const mapFlag = (column: string, field: string): string => `--map ${quoteForShell(`${column}=${field}`)}`;

/** The options for the columns without a field. No option can name a column that has no name, or the name of another. */
function describeMap(
  columns: readonly string[],
  given: readonly (string | undefined)[],
  { fields }: Suggestion,
): MapFlags {
  const unknown = [...columns.entries()].filter(([index]) => given[index] === undefined);
  // No shell can pass control characters on one line.
  const named = unknown.filter(([, column]) => isNamedOnce(column, columns) && !/\p{Cc}/u.test(column));
  const others = unknown.filter((entry) => !named.includes(entry) && fields[entry[0]] !== '');
  return {
    text: named.map(([index, column]) => mapFlag(column, fields[index] ?? '')).join(' '),
    others: others.map(([index]) => `column ${index + 1} as ${quote(fields[index] ?? '')}`),
    isComplete: named.length === unknown.length,
  };
}

const describeUse = ({ text, others }: MapFlags): string =>
  [...(text === '' ? [] : [`as with ${text}`]), ...others].join(', ');

interface MapFlags {
  readonly text: string;
  /** What is done with the columns that no option can name. */
  readonly others: readonly string[];
  /** They mean the same as --map auto. */
  readonly isComplete: boolean;
}

/** Excel writes semicolons where the comma is part of numbers, and there the day comes before the month. */
export const isDayFirstBy = (separator: Separator | undefined): boolean => separator === ';';

/** The options for times that are not ISO 8601. */
function describeTimes(
  columns: readonly string[],
  { guesses }: Suggestion,
  options: HeaderOptions,
): readonly string[] {
  if (guesses.size === 0) return [];
  const formats = new Set(
    [...guesses.values()].flatMap((guess) => guess.likely(isDayFirstBy(options.separator))[0] ?? []),
  );
  const isUtc = [...guesses.keys()].every((index) => /\butc\b/i.test(columns[index] ?? ''));
  return timeFlagsOf([...formats], isUtc ? { ...options, localTimeZone: 'UTC' } : options);
}

/** Also for times that an import rejects. */
export const timeFlagsOf = (
  formats: readonly string[],
  { timeZone, localTimeZone = 'UTC' }: Pick<HeaderOptions, 'timeZone' | 'localTimeZone'>,
): string[] => [
  ...formats.map((format) => `--date-format ${quoteForShell(format)}`),
  ...(timeZone === undefined ? [`--time-zone ${localTimeZone}`] : []),
];

/** What to check in the options for times. */
function explainTimes(suggestion: Suggestion | undefined, options: HeaderOptions): string[] {
  const guesses = [...(suggestion?.guesses.values() ?? [])].map((guess) =>
    guess.likely(isDayFirstBy(options.separator)),
  );
  return describeAmbiguity(guesses.find(([, other]) => other !== undefined)?.[1], options);
}

/** What to check in the options for times: whether the day comes first, and the time zone. */
export const describeAmbiguity = (
  other: string | undefined,
  { timeZone }: Pick<HeaderOptions, 'timeZone'>,
): string[] => [
  ...(other === undefined ? [] : [`If the day and the month are the other way round: ${other}.`]),
  ...(timeZone === undefined ? ['The time zone is that of this machine: name the one of the file.'] : []),
];

/** The options to add. */
function describeFix(
  columns: readonly string[],
  fields: readonly (string | undefined)[],
  flags: MapFlags | undefined,
  timeFlags: readonly string[],
  { companyId, onlyCompanyId, columnMap }: HeaderOptions,
): string[] {
  const isCompanyMissing = companyId === undefined && !fields.includes('companyId');
  const company =
    isCompanyMissing && onlyCompanyId !== undefined ? [`--company ${quoteForId(onlyCompanyId)}`] : [];
  const isUnknown = fields.includes(undefined);
  const auto = isUnknown ? ['--map auto'] : [];
  const all = [...company, ...auto, ...timeFlags];
  if (all.length === 0) return [];
  const first = columns.find(
    (column, index) => fields[index] === undefined && column !== '' && !columnMap?.has(column),
  );
  return [
    `To use the file as it is, add ${all.join(' ')}`,
    ...(flags?.isComplete && isUnknown ? [`--map auto is short for ${flags.text}`] : []),
    ...(flags?.isComplete && first !== undefined
      ? [`A column that is mapped to nothing is ignored: ${mapFlag(first, '')}`]
      : []),
  ];
}

const quoteForId = (id: string): string => (/^[\w.-]+$/.test(id) ? id : quoteForShell(id));
