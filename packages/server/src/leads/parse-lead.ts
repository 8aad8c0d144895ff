/**
 * Turns an object of unknown content into a lead, or into the list of everything that is wrong with it. It is independent
 * of files. The fields, their order and their rules come from `IMPORT_FIELDS`: a new field of a known type needs no change
 * here.
 */
import { IMPORT_FIELDS, type ImportField, LEAD_FIELDS, type LeadField } from '@leadtap/contract';
import type { Clock } from '../lib/clock.ts';
import { quote } from '../lib/escape.ts';
import { isJsonObject } from '../lib/json.ts';
import { fieldOfName, isWeakIdName } from './field-names.ts';
import {
  createFieldReader,
  InvalidValue,
  isBlank,
  NAMELESS_CUSTOM_FIELD,
  type Reader,
  valueOfText,
} from './field-readers.ts';
import type { LeadTimes } from './lead-times.ts';
import type { LeadInput } from './record.ts';

export interface ParseOptions {
  /** The leads are history: each brings the time at which it was created. */
  readonly historical: boolean;
  readonly clock: Clock;
  /** How times are read. Absent: ISO 8601, in UTC if there is no offset. */
  readonly times?: LeadTimes | undefined;
  /** Called with each text of a field that is not a time. */
  readonly onInvalidTime?: ((field: string, text: string) => void) | undefined;
}

export interface ValidationIssue {
  /** Absent: the line is wrong as a whole. */
  readonly field?: string;
  /** What is wrong and how to fix it, in words that follow the name of the field. */
  readonly detail: string;
}

export type ParsedLead =
  | { readonly lead: LeadInput; readonly issues?: undefined }
  | {
      readonly lead?: undefined;
      readonly issues: readonly ValidationIssue[];
      /** The valid fields, if the company is one of them: the store can still check the place and the status. */
      readonly partialLead?: LeadInput;
    };

/** Quotes the name of a field unless it is a plain word. */
export const formatIssue = ({ field, detail }: ValidationIssue): string => {
  if (field === undefined) return detail;
  return `${/^[\w.-]{1,64}$/.test(field) ? field : quote(field)}: ${detail}`;
};

export const CUSTOM_FIELD_PREFIX = 'customFields.';

interface FieldParser extends ImportField {
  readonly read: Reader;
  /** A field of `LeadInput.fields`, not of the lead itself. */
  readonly isContent: boolean;
  /** What null means. Undefined: the same as a field that is left out. */
  readonly valueOfNull: unknown;
}

const LEAD_FIELD_BY_NAME: ReadonlyMap<string, LeadField> = new Map(
  LEAD_FIELDS.map((field) => [field.name, field]),
);

/** A lead can be taken out of its branch and department, but an id or a status can only be replaced. */
const NULLABLE_PLACES: ReadonlySet<string> = new Set(['branchId', 'departmentId']);

const PARSERS: ReadonlyMap<string, FieldParser> = new Map(
  IMPORT_FIELDS.map((field) => {
    const contentDefault = LEAD_FIELD_BY_NAME.get(field.name)?.default;
    const isContent = contentDefault !== undefined;
    const valueOfNull = NULLABLE_PLACES.has(field.name) ? null : contentDefault;
    return [field.name, { ...field, read: createFieldReader(field), isContent, valueOfNull }];
  }),
);

function findParser(name: string, { historical }: ParseOptions): FieldParser | undefined {
  const parser = PARSERS.get(name);
  return historical || !parser?.import.historicalOnly ? parser : undefined;
}

const REQUIRED = IMPORT_FIELDS.filter(({ import: rule }) => rule.required).map(({ name }) => name);
const REQUIRED_OF_HISTORY = IMPORT_FIELDS.filter(
  ({ import: rule }) => rule.required || rule.historicalOnly,
).map(({ name }) => name);

/** Names of the fields without which a lead is rejected. */
export const requiredFields = ({ historical }: ParseOptions): readonly string[] =>
  historical ? REQUIRED_OF_HISTORY : REQUIRED;

/** Why a name is not one of the fields that an import may have. */
function explainUnknownField(name: string): string {
  if (PARSERS.has(name))
    return 'is set by Leadtap for new leads; remove it, or import past leads with --historical';
  if (LEAD_FIELD_BY_NAME.has(name)) return 'is set by Leadtap; remove it';
  // As PHP and Rails name nested fields.
  if (name.startsWith('customFields[')) return 'write it as customFields.name, with the name of the field';
  if (name === 'field_data')
    return 'is how Facebook sends a lead; send it as it is with a token that was issued with --source facebook';
  const meant = isWeakIdName(name) ? undefined : fieldOfName(name);
  return meant === undefined
    ? 'is not a field of a lead; put it under customFields'
    : `is not a field of a lead; did you mean ${meant}?`;
}

/** What is wrong with a field name; undefined if a column or an answer may have it. */
export function fieldProblem(field: string, options: ParseOptions): string | undefined {
  if (isWholeCustomFields(field))
    return 'give each custom field a column of its own, such as customFields.source';
  const isKnown = field.startsWith(CUSTOM_FIELD_PREFIX) || findParser(field, options) !== undefined;
  return isKnown ? undefined : explainUnknownField(field);
}

/** `customFields` itself, or a custom field without a name. */
export const isWholeCustomFields = (field: string): boolean =>
  field === 'customFields' ||
  (field.startsWith(CUSTOM_FIELD_PREFIX) && isBlank(field.slice(CUSTOM_FIELD_PREFIX.length)));

const PHONES: ReadonlySet<string> = new Set(['phone1', 'phone2']);

/** `5.55E+09`: a spreadsheet shows a long number so, and saves what it shows. */
export const isShortenedNumber = (value: unknown): boolean =>
  typeof value === 'string' && /^\d(?:[.,]\d{1,20})?E\+\d{1,3}$/i.test(value);

const SHORTENED_PHONE = new InvalidValue(
  'is a number that a spreadsheet has shortened, and its digits are lost; format the column as text there, enter the numbers again, and save the file again',
);

/** An empty text means the same as null: many senders have one for each field that was not filled in. */
function readValue(field: FieldParser, value: unknown, options: ParseOptions): unknown {
  const { clock, times, onInvalidTime } = options;
  if (value === undefined) return undefined;
  if (value === null || value === '') return field.valueOfNull;
  if ((field.type === 'email' || field.type === 'text') && isBlank(value)) return field.valueOfNull;
  if (PHONES.has(field.name) && isShortenedNumber(value)) return SHORTENED_PHONE;
  const result = field.type === 'instant' && times ? times.read(value) : field.read(value);
  if (field.type === 'instant' && result instanceof InvalidValue && typeof value === 'string')
    onInvalidTime?.(field.name, value);
  if (field.import.historicalOnly && typeof result === 'number' && result > clock())
    return new InvalidValue(
      `${quote(String(value))} is in the future; give the time at which the lead was created`,
    );
  return result;
}

/** Whether a cell of CSV is a valid value of the field. */
export function isValidText(field: string, text: string, options: ParseOptions): boolean {
  const parser = findParser(field, options);
  return (
    parser !== undefined &&
    !(readValue(parser, valueOfText(text, parser.type), options) instanceof InvalidValue)
  );
}

const CONTENT_FIELDS = IMPORT_FIELDS.filter(
  ({ name, type }) => LEAD_FIELD_BY_NAME.get(name)?.default !== undefined && type !== 'boolean',
).map(({ name }) => name);

/** Whether it has anything that makes it a lead: a place, a status or `sameDay` alone does not. */
const hasContent = (fields: LeadInput['fields']): boolean =>
  CONTENT_FIELDS.some((name) => !isBlank(Reflect.get(fields, name)));

export const NO_CONTENT =
  'has no content; give at least a name, a phone number, an e-mail address, an address, a note, a custom field, an image or an appointment';

/** Refuses a new lead without content. One with an id may set the status of a lead that exists, which only the store knows. */
export function requireContent(parsed: ParsedLead): ParsedLead {
  const { lead } = parsed;
  if (lead === undefined || hasContent(lead.fields)) return parsed;
  if (lead.id === undefined) return { issues: [{ detail: NO_CONTENT }], partialLead: lead };
  return { lead: { ...lead, onlyUpdate: true } };
}

/** All issues are reported, not only the first. A field that is undefined counts as absent, but its name is checked. */
export function parseLead(given: Readonly<Record<string, unknown>>, options: ParseOptions): ParsedLead {
  const fields: Record<string, unknown> = {};
  const lead: Record<string, unknown> = { fields };
  const { object, issues } = nestCustomFields(given);
  for (const field of requiredFields(options))
    if (isBlank(object[field])) issues.push({ field, detail: 'is required; add it' });
  for (const name of Object.keys(object)) {
    const parser = findParser(name, options);
    const result =
      parser === undefined
        ? new InvalidValue(explainUnknownField(name))
        : readValue(parser, object[name], options);
    if (result instanceof InvalidValue) issues.push({ field: name, detail: result.detail });
    else if (result !== undefined) (parser?.isContent ? fields : lead)[name] = result;
  }
  // The readers guarantee the types of the fields.
  const parsed = lead as Record<string, unknown> & LeadInput;
  if (issues.length === 0) return { lead: parsed };
  return parsed.companyId === undefined ? { issues } : { issues, partialLead: parsed };
}

/** The company of the lead, or else the given one. */
export const withCompany = (
  object: Readonly<Record<string, unknown>>,
  companyId: string | undefined,
): Readonly<Record<string, unknown>> =>
  companyId === undefined || (object['companyId'] ?? null) !== null ? object : { ...object, companyId };

const isDotted = (name: string): boolean => name.startsWith(CUSTOM_FIELD_PREFIX);

/** `customFields.x` names the field `x` of `customFields`. */
function nestCustomFields(given: Readonly<Record<string, unknown>>): {
  readonly object: Readonly<Record<string, unknown>>;
  readonly issues: ValidationIssue[];
} {
  const issues: ValidationIssue[] = [];
  if (!Object.keys(given).some(isDotted)) return { object: given, issues };
  const entries = Object.entries(given);
  const dotted = entries.filter(([name]) => isDotted(name));
  const nested = given['customFields'];
  const custom = new Map<string, unknown>(isJsonObject(nested) ? Object.entries(nested) : []);
  for (const [name, value] of dotted) {
    const inner = name.slice(CUSTOM_FIELD_PREFIX.length);
    if (isBlank(inner)) issues.push({ field: name, detail: NAMELESS_CUSTOM_FIELD });
    else if (custom.has(inner)) issues.push({ field: name, detail: 'is there twice; send it once' });
    // Empty cells do not count toward the size of all custom fields.
    else if ((value ?? '') !== '') custom.set(inner, value);
  }
  // Without a prototype, because a name may be __proto__.
  const object: Record<string, unknown> = Object.create(null);
  for (const [name, value] of entries) if (!isDotted(name)) object[name] = value;
  const isGiven = dotted.some(([, value]) => value !== undefined);
  if (isJsonObject(nested) || (isBlank(nested) && isGiven))
    object['customFields'] = Object.fromEntries(custom);
  return { object, issues };
}

/** Files of Facebook Lead Ads have `l:123`, `p:+33…` and `z:01067`, so that spreadsheets do not read a number. */
const FACEBOOK_PREFIX: ReadonlyMap<string, RegExp> = new Map([
  ['id', /^l:(?=\d+$)/],
  ['phone1', /^p:(?=[+\d])/],
  ['phone2', /^p:(?=[+\d])/],
  ['postalCode', /^z:(?=\d)/],
]);

/**
 * The object that JSON would have for texts: the cells of a CSV row, or the fields of a form. A text without a name is left
 * out.
 */
export function objectFromTexts(
  names: readonly (string | undefined)[],
  texts: readonly string[],
): Readonly<Record<string, unknown>> {
  // Without a prototype, because a name may be __proto__.
  const object: Record<string, unknown> = Object.create(null);
  for (const [index, name] of names.entries()) {
    const text = texts[index] ?? '';
    const prefix = name && FACEBOOK_PREFIX.get(name);
    if (name !== undefined)
      object[name] = valueOfText(prefix ? text.replace(prefix, '') : text, PARSERS.get(name)?.type);
  }
  return object;
}
