/** Assigns the fields of a lead to the columns of a file, or to the answers of a form: by their names and sample values. */
import { IMPORT_FIELDS } from '@leadtap/contract';
import { nearestName } from '../nearest-name.ts';
import { parseInstant } from './instant.ts';
import { DateFormatGuess } from './lead-times.ts';
import { CUSTOM_FIELD_PREFIX, isShortenedNumber, isValidText, type ParseOptions } from './parse-lead.ts';

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

/** The field that a name stands for; undefined if it is none. */
function fieldOfName(label: string): string | undefined {
  const name = normalize(label);
  const known = FIELD_OF_NAME.get(name);
  if (known !== undefined) return known;
  const asked = FIELD_OF_NAME.get(withoutQuestion(name));
  if (asked !== undefined && asked !== 'id') return asked;
  const near = nearestName(label, IMPORT_NAMES);
  return near !== undefined && digitOf(near) === digitOf(name) ? near : undefined;
}

export interface AssignOptions extends ParseOptions {
  /** Whether the company has this status, by its value or label. Absent: unknown. */
  readonly isStatus?: ((text: string) => boolean) | undefined;
}

/** A column of a file, or a question of a form. */
export interface Label {
  readonly name: string;
  /** The field that it has in any case; empty if it is ignored. Undefined: the field is to be found. */
  readonly field?: string | undefined;
  /** Samples, of which none is empty. */
  readonly values: readonly string[];
}

export interface Assignment {
  /** Empty: the label is ignored. */
  readonly field: string;
  /**
   * `given`: as the label says. `name`: its name stands for the field, and the samples can be its values. `creation-time`: a
   * custom field, because only a historical import sets the time of creation. `other`: a custom field.
   */
  readonly reason: 'given' | 'name' | 'creation-time' | 'other';
  /** Of samples that are times, but not ISO 8601. */
  readonly formats?: DateFormatGuess | undefined;
}

/** Whether the field can have these values of a label whose name stands for it. */
export type Accepts = (field: string, label: Label) => boolean;

/** No field is assigned twice. What is left becomes a custom field. */
export function assignFields(
  labels: readonly Label[],
  options: AssignOptions,
  accepts: Accepts = (field, label) => isPlausible(field, label, options),
): readonly Assignment[] {
  const taken = new Set(labels.flatMap(({ field }) => field ?? []));
  const found = labels.map(({ name, field }) => field ?? fieldOfName(name));
  const assigned = labels.map(({ field }) => field);
  const assign = (index: number, field: string): void => {
    const label = labels[index];
    if (!label || assigned[index] !== undefined || taken.has(field) || !accepts(field, label)) return;
    taken.add(field);
    assigned[index] = field;
  };
  for (const [index, field] of found.entries())
    if (field !== undefined && isAssignable(field, options)) assign(index, field);
  // A second phone number has the other field.
  for (const [index, field] of found.entries())
    if (field === 'phone1' || field === 'phone2') assign(index, field === 'phone1' ? 'phone2' : 'phone1');
  const nameCustomField = createCustomFieldNamer(taken);
  return labels.map((label, index) => {
    const field = assigned[index];
    if (label.field !== undefined) return { field: label.field, reason: 'given' };
    if (field === undefined) {
      const isCreationTime = found[index] === 'createdAt' && !options.historical;
      const reason = isCreationTime ? 'creation-time' : 'other';
      return { field: nameCustomField(label.name), reason };
    }
    const formats = guessFormats(field, label.values, options);
    return { field: refine(field, label.name, taken), reason: 'name', formats };
  });
}

const isAssignable = (field: string, { historical }: AssignOptions): boolean =>
  field !== 'customFields' && (field !== 'createdAt' || historical);

/** A list with one phone number has it in the first field, and "Name" beside "Vorname" is the last name. */
function refine(field: string, name: string, taken: ReadonlySet<string>): string {
  if (field === 'phone2' && !taken.has('phone1')) return 'phone1';
  const isLastName = taken.has('firstName') && !taken.has('lastName');
  const isName = withoutQuestion(normalize(name)) === 'name';
  return field === 'fullName' && isLastName && isName ? 'lastName' : field;
}

/** Names custom fields. The second one of a name gets a number. */
function createCustomFieldNamer(fields: ReadonlySet<string>): (label: string) => string {
  const taken = new Set(fields);
  const counts = new Map<string, number>();
  return (label) => {
    const name = `${CUSTOM_FIELD_PREFIX}${label}`;
    let field = name;
    for (let count = counts.get(name) ?? 2; taken.has(field); count += 1) {
      field = `${name} ${count}`;
      counts.set(name, count + 1);
    }
    taken.add(field);
    return field;
  };
}

/** Places are ids of Leadtap; a column of another program has names. */
const PLACES: ReadonlySet<string> = new Set(['companyId', 'branchId', 'departmentId']);
const TIMES: ReadonlySet<string> = new Set(['appointmentDateTime', 'createdAt']);

function isPlausible(field: string, { name, values }: Label, options: AssignOptions): boolean {
  const isSameName = normalize(name) === normalize(field);
  if (PLACES.has(field)) return isSameName;
  if (field === 'id') {
    const isCount = WEAK_ID_NAMES.has(normalize(name)) && isRowCount(values);
    return !isCount && new Set(values).size === values.length;
  }
  if (field === 'statusValue') return values.every((value) => options.isStatus?.(value) === true);
  if (TIMES.has(field)) return guessFormats(field, values, options)?.isPossible ?? true;
  // Some invalid cells, such as mistyped e-mail addresses, are errors of those rows.
  const valid = values.filter((value) => isValidText(field, value, options) || isShortenedNumber(value));
  return isSameName || valid.length * 2 >= values.length;
}

const isRowCount = (values: readonly string[]): boolean =>
  values.every((value, index) => /^\d{1,9}$/.test(value) && Number(value) === Number(values[0]) + index);

/** Undefined if the field has no times, or if the options can read all of them. */
function guessFormats(
  field: string,
  values: readonly string[],
  { times }: AssignOptions,
): DateFormatGuess | undefined {
  if (!TIMES.has(field)) return undefined;
  const parse = times?.parse ?? parseInstant;
  const others = values.filter((value) => parse(value) === undefined);
  const guess = new DateFormatGuess();
  for (const value of others) guess.add(value);
  return others.length === 0 ? undefined : guess;
}
