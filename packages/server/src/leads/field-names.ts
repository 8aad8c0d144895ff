/** The fields that names of columns, questions and other programs stand for. */
import { IMPORT_FIELDS } from '@leadtap/contract';
import { nearestName } from '../lib/nearest-name.ts';

/**
 * Names of columns in lists of contacts and in exports of HubSpot, Salesforce, Pipedrive, Facebook Lead Ads, Google Ads,
 * Typeform and spreadsheets. Compared without case, accents, spaces and punctuation.
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
    adressemail adresseemail adresseelectronique correo correoelectronico indirizzoemail emailwork emailhome emailother`,
  phone1: `phone phonenumber userphone workphone businessphone homephone primaryphone directphone workphonenumber telephone
    tel telefon telefonnummer telefonnr rufnummer festnetz telephonefixe numerodetelephone telefono numerodetelefono
    telefoon phonework phonehome phoneother`,
  phone2: `mobile mobilephone mobilephonenumber mobilenumber cell cellphone mobil mobiltelefon mobilnummer handy handynummer
    portable telephoneportable movil cellulare phonemobile`,
  address: `street streetaddress addressline1 address1 mailingstreet mailingaddress strasse strassehausnummer
    strasseundhausnummer anschrift adresse adressepostale rue direccion indirizzo adres postaladdress`,
  postalCode: `zip zipcode zippostalcode mailingzippostalcode postcode postleitzahl plz codepostal cp codigopostal cap
    zippostalcodeofpostaladdress`,
  appointmentDateTime: `appointment appointmentdate appointmenttime termin rendezvous rdv datederendezvous cita`,
  statusValue: `status leadstatus statut stato`,
  createdAt: `created createdate createddate createdtime createdon creationdate datecreated leadcreated leadsubmittime
    submittedat submitdate submitdateutc submissiondate submissiontime timestamp erstellt erstelltam erstellungsdatum
    angelegtam anlagedatum datedecreation datecreation creele fechadecreacion datacreazione`,
};

/** A person can be named or reached with any of them. */
export const CONTACT_FIELDS = ['fullName', 'firstName', 'lastName', 'email', 'phone1', 'phone2'] as const;

/** Names that are an id only if the cells are no count of the rows: those numbers come again in the next file. */
const WEAK_ID_NAMES: ReadonlySet<string> = new Set(['number', 'nr', 'no', 'num', 'numero', 'n', 'lfdnr']);

export const normalize = (name: string): string =>
  name
    .replaceAll('#', 'number')
    .normalize('NFD')
    .replaceAll('ß', 'ss')
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '');

export const isWeakIdName = (name: string): boolean => WEAK_ID_NAMES.has(normalize(name));

const IMPORT_NAMES = IMPORT_FIELDS.map(({ name }) => name);

const FIELD_OF_NAME: ReadonlyMap<string, string> = new Map([
  ...Object.entries(NAMES_OF_FIELDS).flatMap(([field, names]) =>
    names.split(/\s+/).map((name) => [name, field] as const),
  ),
  ...[...WEAK_ID_NAMES].map((name) => [name, 'id'] as const),
  ...IMPORT_NAMES.map((name) => [normalize(name), name] as const),
]);

/** Contact Form 7 names a field `your-email`, and people ask "What's your first name?". */
export const withoutQuestion = (name: string): string => name.replace(/^(?:.*?your|ihre?|deine?|votre)/, '');

/** Pipedrive names a column `Person - Email - Work`. Other prefixes are not the lead's: `Organization - Name`. */
const withoutPrefix = (label: string): string => label.replace(/^(?:person|lead) - /i, '');

/** More than a name has. */
const MAX_NAME_LENGTH = 200;

/** The last digit is part of a name: "Address 2" is not a mistyped "address". */
const digitOf = (name: string): string | undefined => /\d$/.exec(name)?.[0];

/** The field that a name stands for; undefined if it is none. */
export function fieldOfName(label: string): string | undefined {
  if (label.length > MAX_NAME_LENGTH) return undefined;
  const name = normalize(label);
  const known = FIELD_OF_NAME.get(name) ?? FIELD_OF_NAME.get(normalize(withoutPrefix(label)));
  if (known !== undefined) return known;
  const asked = FIELD_OF_NAME.get(withoutQuestion(name));
  if (asked !== undefined && asked !== 'id') return asked;
  const near = nearestName(label, IMPORT_NAMES);
  return near !== undefined && digitOf(near) === digitOf(name) ? near : undefined;
}
