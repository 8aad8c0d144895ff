/** The header row of CSV: which field each column has. Other names than those of the fields are mapped. */
import { IMPORT_FIELDS, LEAD_FIELDS } from '@leadtap/contract';
import { nearestName } from '../../nearest-name.ts';
import { quote } from './field-readers.ts';
import { type ColumnMap, UnusableFileError } from './input-line.ts';
import {
  CUSTOM_FIELD_PREFIX,
  explainUnknownField,
  formatIssue,
  isImportField,
  type ParseOptions,
  requiredFields,
  type ValidationIssue,
} from './parse-lead.ts';

export interface HeaderOptions extends ParseOptions {
  readonly columnMap?: ColumnMap | undefined;
  /** The company of leads that name none: the column may be missing. */
  readonly companyId?: string | undefined;
}

export const BAD_HEADER = 'has a header row that cannot be used';

/** What is wrong with a field name; undefined if a column may have it. */
export function columnProblem(field: string, options: ParseOptions): string | undefined {
  if (field === 'customFields' || field === CUSTOM_FIELD_PREFIX)
    return 'give each custom field a column of its own, such as customFields.source';
  const isKnown = field.startsWith(CUSTOM_FIELD_PREFIX) || isImportField(field, options);
  return isKnown ? undefined : explainUnknownField(field);
}

/** The field of each column; undefined if the column is ignored. Throws with all errors of the header. */
export function fieldsOfColumns(
  columns: readonly string[],
  options: HeaderOptions,
): readonly (string | undefined)[] {
  const { columnMap, companyId } = options;
  const fields = columns.map((column) => columnMap?.get(column) ?? column);
  const issues: ValidationIssue[] = [];
  const unknown: string[] = [];
  for (const [index, column] of columns.entries()) {
    const field = fields[index] ?? '';
    const isMapped = columnMap?.has(column) === true;
    if (isMapped && field === '') continue;
    const name = column === '' ? `column ${index + 1}` : column;
    const problem = columnProblem(field, options);
    const detail =
      column === '' ? 'has no name; name it or remove it' : problem && (explainKnownName(field) ?? problem);
    const first = fields.indexOf(field);
    if (detail !== undefined) issues.push({ field: name, detail });
    else if (first < index) issues.push({ field: name, detail: repeated(field, columns[first]) });
    if (detail !== undefined && column !== '' && !isMapped) unknown.push(column);
  }
  for (const field of requiredFields(options))
    if (!fields.includes(field) && !(field === 'companyId' && companyId !== undefined))
      issues.push({ field, detail: missing(field) });
  if (issues.length > 0)
    throw new UnusableFileError(BAD_HEADER, ...issues.map(formatIssue), ...mapHints(unknown, options));
  return fields.map((field) => (field === '' ? undefined : field));
}

const repeated = (field: string, first: string | undefined): string =>
  first === field
    ? 'is there twice; remove one of the two columns'
    : `${field} is already the field of column ${quote(first ?? '')}; map one of them to another field`;

const missing = (field: string): string =>
  field === 'companyId' ? 'is missing; add this column, or --company ID' : 'is missing; add this column';

/** Common names of columns in lists of contacts, for hints. Compared without case, accents, spaces and punctuation. */
const KNOWN_NAMES: Readonly<Record<string, string>> = {
  ...{ givenname: 'firstName', forename: 'firstName', vorname: 'firstName', prenom: 'firstName' },
  ...{ nombre: 'firstName', nome: 'firstName', imie: 'firstName', voornaam: 'firstName' },
  ...{ surname: 'lastName', familyname: 'lastName', nachname: 'lastName', nom: 'lastName' },
  ...{ apellido: 'lastName', apellidos: 'lastName', cognome: 'lastName', achternaam: 'lastName' },
  ...{ name: 'fullName', contact: 'fullName', contactname: 'fullName', nomcomplet: 'fullName' },
  ...{ mail: 'email', emailaddress: 'email', courriel: 'email', correo: 'email', emailadresse: 'email' },
  ...{ phone: 'phone1', phonenumber: 'phone1', telephone: 'phone1', telefon: 'phone1', tel: 'phone1' },
  ...{ telefono: 'phone1', telefonnummer: 'phone1', telefoon: 'phone1' },
  ...{ mobile: 'phone2', mobil: 'phone2', handy: 'phone2', portable: 'phone2', movil: 'phone2' },
  ...{ street: 'address', strasse: 'address', adresse: 'address', direccion: 'address', rue: 'address' },
  ...{
    zip: 'postalCode',
    zipcode: 'postalCode',
    postcode: 'postalCode',
    plz: 'postalCode',
    cap: 'postalCode',
  },
  ...{ codepostal: 'postalCode', codigopostal: 'postalCode', postleitzahl: 'postalCode' },
  ...{ company: 'companyId', branch: 'branchId', department: 'departmentId', filiale: 'branchId' },
  ...{
    leadid: 'id',
    nr: 'id',
    number: 'id',
    appointment: 'appointmentDateTime',
    termin: 'appointmentDateTime',
  },
};

const normalize = (name: string): string =>
  name
    .normalize('NFD')
    .replace(/ß/g, 'ss')
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '');

const IMPORT_NAMES = IMPORT_FIELDS.map(({ name }) => name);

/** Names that Leadtap sets, or that only historical leads have. */
const isLeadField = (name: string): boolean => LEAD_FIELDS.some((field) => field.name === name);

function explainKnownName(column: string): string | undefined {
  const field = KNOWN_NAMES[normalize(column)];
  return field && `is not a field of a lead; did you mean ${field}?`;
}

/** The field that a column is probably meant to have, or else a custom field of the same name. Empty: ignore the column. */
function suggestField(column: string, options: ParseOptions): string {
  if (isLeadField(column)) return '';
  const known = KNOWN_NAMES[normalize(column)] ?? nearestName(column, IMPORT_NAMES);
  return known !== undefined && isImportField(known, options) ? known : `${CUSTOM_FIELD_PREFIX}${column}`;
}

/** Quoted for a shell. */
const quoteForShell = (text: string): string =>
  /["$`\\!]/.test(text) ? `'${text.replaceAll("'", "'\\''")}'` : `"${text}"`;

const mapFlag = (column: string, field: string): string => `--map ${quoteForShell(`${column}=${field}`)}`;

/** The options to add, for columns that are not fields. */
function mapHints(columns: readonly string[], options: ParseOptions): string[] {
  // No shell can pass control characters on one line.
  const mapped = columns.filter((column) => !/\p{Cc}/u.test(column) && !column.startsWith('customFields'));
  const [first] = mapped;
  if (first === undefined) return [];
  const flags = mapped.map((column) => mapFlag(column, suggestField(column, options)));
  return [
    `To use the file as it is, add ${flags.join(' ')}`,
    `A column that is mapped to nothing is ignored: ${mapFlag(first, '')}`,
  ];
}
