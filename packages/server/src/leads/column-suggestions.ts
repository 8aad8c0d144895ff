/** Which fields the columns of a file are probably meant to have: by their names, and by the cells of its first rows. */
import { IMPORT_FIELDS, LEAD_FIELDS } from '@leadtap/contract';
import { nearestName } from '../nearest-name.ts';
import { DateFormatGuess, type ParseTime } from './lead-times.ts';
import { CUSTOM_FIELD_PREFIX, isShortenedNumber, isValidText, type ParseOptions } from './parse-lead.ts';
import { parseInstant } from './since.ts';

/**
 * Names of columns in lists of contacts and in exports of HubSpot, Salesforce, Facebook Lead Ads, Google Ads, Typeform and
 * spreadsheets. Compared without case, accents, spaces and punctuation.
 */
const NAMES_OF_FIELDS: Readonly<Record<string, string>> = {
  id: `recordid leadid contactid personid customerid customernumber clientid externalid responseid submissionid
    kundennr kundennummer kundenid datensatzid leadnummer numeroclient nclient codeclient idclient identifiant`,
  firstName: `givenname forename contactfirstname vorname prenom nombre nome imie voornaam fornamn`,
  lastName: `surname familyname contactlastname nachname familienname nom nomdefamille apellido apellidos cognome
    achternaam nazwisko efternamn`,
  fullName: `name contact contactname leadname displayname vollstandigername ansprechpartner nomcomplet
    nometprenom prenometnom nombrecompleto nomecompleto`,
  email: `mail emailaddress useremail workemail businessemail personalemail primaryemail emailadresse mailadresse courriel
    adressemail adresseemail adresseelectronique correo correoelectronico indirizzoemail`,
  phone1: `phone phonenumber userphone workphone businessphone homephone primaryphone directphone workphonenumber telephone
    tel telefon telefonnummer telefonnr rufnummer festnetz telephonefixe numerodetelephone telefono numerodetelefono
    telefoon`,
  phone2: `mobile mobilephone mobilephonenumber mobilenumber cell cellphone mobil mobiltelefon mobilnummer handy handynummer
    portable telephoneportable movil cellulare`,
  address: `street streetaddress addressline1 address1 mailingstreet mailingaddress strasse strassehausnummer
    strasseundhausnummer anschrift adresse adressepostale rue direccion indirizzo adres`,
  postalCode: `zip zipcode zippostalcode mailingzippostalcode postcode postleitzahl plz codepostal cp codigopostal cap`,
  appointmentDateTime: `appointment appointmentdate appointmenttime termin rendezvous rdv datederendezvous cita`,
  statusValue: `status leadstatus statut stato`,
  createdAt: `created createdate createddate createdtime createdon creationdate datecreated leadcreated leadsubmittime
    submittedat submitdate submitdateutc submissiondate submissiontime timestamp erstellt erstelltam erstellungsdatum
    angelegtam anlagedatum datedecreation datecreation creele fechadecreacion datacreazione`,
};

/** Names that are an id only if the cells are no count of the rows: those numbers come again in the next file. */
const WEAK_ID_NAMES: ReadonlySet<string> = new Set(['number', 'nr', 'no', 'num', 'numero', 'n', 'lfdnr']);

const normalize = (name: string): string =>
  name
    .replaceAll('#', 'number')
    .normalize('NFD')
    .replaceAll('ß', 'ss')
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '');

const IMPORT_NAMES = IMPORT_FIELDS.map(({ name }) => name);

const FIELD_OF_NAME: ReadonlyMap<string, string> = new Map([
  ...Object.entries(NAMES_OF_FIELDS).flatMap(([field, names]) =>
    names.split(/\s+/).map((name) => [name, field] as const),
  ),
  ...[...WEAK_ID_NAMES].map((name) => [name, 'id'] as const),
  ...IMPORT_NAMES.map((name) => [normalize(name), name] as const),
]);

/** Contact Form 7 names a field `your-email`, and people ask "What's your first name?". */
const withoutQuestion = (name: string): string => name.replace(/^(?:.*?your|ihre?|deine?|votre)/, '');

/** The last digit is part of a name: "Address 2" is not a mistyped "address". */
const digitOf = (name: string): string | undefined => /\d$/.exec(name)?.[0];

/** The field that the name of a column stands for; undefined if it is none. */
function fieldOfName(column: string): string | undefined {
  const name = normalize(column);
  const known = FIELD_OF_NAME.get(name);
  if (known !== undefined) return known;
  const asked = FIELD_OF_NAME.get(withoutQuestion(name));
  if (asked !== undefined && asked !== 'id') return asked;
  const near = nearestName(column, IMPORT_NAMES);
  return near !== undefined && digitOf(near) === digitOf(name) ? near : undefined;
}

/** The name of a time at which a lead was created, in an import that sets it itself. */
export const isCreationTime = (column: string): boolean => fieldOfName(column) === 'createdAt';

export interface SuggestOptions extends ParseOptions {
  /** Whether the company has this status, by its value or label. Absent: unknown. */
  readonly isStatus?: ((text: string) => boolean) | undefined;
}

export interface Suggestion {
  /** By column. Empty: the column is ignored. */
  readonly fields: readonly string[];
  /** Formats of the times that are not ISO 8601, by column. */
  readonly guesses: ReadonlyMap<number, DateFormatGuess>;
}

/**
 * Suggests a field for each column that has none. `given` has the fields of the others. No field is suggested twice; what is
 * left becomes a custom field.
 */
export function suggestFields(
  columns: readonly string[],
  given: readonly (string | undefined)[],
  rows: readonly (readonly string[])[],
  options: SuggestOptions,
): Suggestion {
  const fields: (string | undefined)[] = [...given];
  const guesses = new Map<number, DateFormatGuess>();
  const assign = (index: number, field: string): void => {
    if (fields.includes(field)) return;
    const cells = rows.map((row) => row[index] ?? '').filter((cell) => cell !== '');
    const guess = new DateFormatGuess();
    if (!isPlausible(field, columns[index] ?? '', cells, guess, options)) return;
    fields[index] = field;
    if (guess.likely(true).length > 0) guesses.set(index, guess);
  };
  const unassigned = () => [...columns.entries()].filter(([index]) => fields[index] === undefined);
  const fieldsOfNames = columns.map((column, index) => given[index] ?? fieldOfName(column));
  for (const [index] of unassigned()) {
    const field = fieldsOfNames[index];
    if (field !== undefined && isSuggested(field, options)) assign(index, field);
  }
  for (const [index] of unassigned()) {
    const field = fieldsOfNames[index];
    if (field === 'phone1' || field === 'phone2') assign(index, field === 'phone1' ? 'phone2' : 'phone1');
  }
  const nameCustomField = createCustomFieldNamer(fields);
  for (const [index, column] of unassigned()) {
    const isFilled = rows.some((row) => (row[index] ?? '') !== '');
    const name = column || (isFilled ? `column ${index + 1}` : '');
    fields[index] = isIgnored(name) ? '' : nameCustomField(name);
  }
  return { fields: refine(fields, given, columns), guesses };
}

/** Places are ids of Leadtap; a column of another program has names. */
const PLACES: ReadonlySet<string> = new Set(['companyId', 'branchId', 'departmentId']);

const isSuggested = (field: string, { historical }: SuggestOptions): boolean =>
  field !== 'customFields' && (field !== 'createdAt' || historical);

/** A list with one phone number has it in the first field, and "Name" beside "Vorname" is the last name. */
const refine = (
  fields: readonly (string | undefined)[],
  given: readonly (string | undefined)[],
  columns: readonly string[],
): string[] =>
  fields.map((field = '', index) => {
    if (given[index] !== undefined) return field;
    if (field === 'phone2' && !fields.includes('phone1')) return 'phone1';
    const isLastName = fields.includes('firstName') && !fields.includes('lastName');
    const isName = withoutQuestion(normalize(columns[index] ?? '')) === 'name';
    return field === 'fullName' && isLastName && isName ? 'lastName' : field;
  });

/** Columns without name and cells, and fields that Leadtap sets. */
const isIgnored = (column: string): boolean =>
  column === '' ||
  LEAD_FIELDS.some(
    ({ name, import: rule }) =>
      name === column && name !== 'status' && (rule === undefined || rule.historicalOnly),
  );

/** Names custom fields. The second one of a name gets a number. */
export function createCustomFieldNamer(fields: readonly (string | undefined)[]): (column: string) => string {
  const taken = new Set(fields);
  const counts = new Map<string, number>();
  return (column) => {
    const name = `${CUSTOM_FIELD_PREFIX}${column}`;
    let field = name;
    for (let count = counts.get(name) ?? 2; taken.has(field); count += 1) {
      field = `${name} ${count}`;
      counts.set(name, count + 1);
    }
    taken.add(field);
    return field;
  };
}

/** Whether the cells, of which none is empty, can be values of the field. */
function isPlausible(
  field: string,
  column: string,
  cells: readonly string[],
  guess: DateFormatGuess,
  options: SuggestOptions,
): boolean {
  const isSameName = normalize(column) === normalize(field);
  if (PLACES.has(field)) return isSameName;
  if (field === 'id') {
    const isCount = WEAK_ID_NAMES.has(normalize(column)) && isRowCount(cells);
    return !isCount && new Set(cells).size === cells.length;
  }
  if (field === 'statusValue') return cells.every((cell) => options.isStatus?.(cell) === true);
  if (field === 'appointmentDateTime' || field === 'createdAt')
    return areTimes(cells, options.times?.parse ?? parseInstant, guess);
  // Some invalid cells, such as mistyped e-mail addresses, are errors of those rows.
  const valid = cells.filter((cell) => isValidText(field, cell, options) || isShortenedNumber(cell));
  return isSameName || valid.length * 2 >= cells.length;
}

const isRowCount = (cells: readonly string[]): boolean =>
  cells.every((cell, index) => /^\d{1,9}$/.test(cell) && Number(cell) === Number(cells[0]) + index);

function areTimes(cells: readonly string[], parseTime: ParseTime, guess: DateFormatGuess): boolean {
  const others = cells.filter((cell) => parseTime(cell) === undefined);
  for (const cell of others) guess.add(cell);
  return others.length === 0 || guess.likely(true).length > 0;
}
