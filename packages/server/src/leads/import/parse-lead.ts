/**
 * Turns an object of unknown content into a lead, or into the list of everything that is wrong with it. It is independent
 * of files. The fields, their order and their rules come from `IMPORT_FIELDS`: a new field of a known type needs no change
 * here.
 */
import { IMPORT_FIELDS, type ImportField, LEAD_FIELDS, type LeadField } from '@leadtap/contract';
import type { Clock } from '../../clock.ts';
import { nearestName } from '../../nearest-name.ts';
import type { LeadInput } from '../../store/records.ts';
import { createReader, InvalidValue, quote, type Reader, valueOfText } from './field-readers.ts';

export interface ParseOptions {
  /** The leads are history: each brings the time at which it was created. */
  readonly historical: boolean;
  readonly clock: Clock;
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
    return [field.name, { ...field, read: createReader(field), isContent, valueOfNull }];
  }),
);

function findParser(name: string, { historical }: ParseOptions): FieldParser | undefined {
  const parser = PARSERS.get(name);
  return historical || !parser?.import.historicalOnly ? parser : undefined;
}

export const isImportField = (name: string, options: ParseOptions): boolean =>
  findParser(name, options) !== undefined;

/** Names of the fields without which a lead is rejected. */
export const requiredFields = ({ historical }: ParseOptions): readonly string[] =>
  IMPORT_FIELDS.filter(({ import: rule }) => rule.required || (historical && rule.historicalOnly)).map(
    ({ name }) => name,
  );

/** Why a name is not one of the fields that an import may have. */
export function explainUnknownField(name: string): string {
  if (PARSERS.has(name))
    return 'is set by Leadtap for new leads; remove it, or import past leads with --historical';
  if (LEAD_FIELD_BY_NAME.has(name)) return 'is set by Leadtap; remove it';
  const nearest = nearestName(name, [...PARSERS.keys()]);
  return nearest === undefined
    ? 'is not a field of a lead; put it under customFields'
    : `is not a field of a lead; did you mean ${nearest}?`;
}

function readValue(field: FieldParser, value: unknown, { clock }: ParseOptions): unknown {
  if (value === null) return field.valueOfNull;
  const result = field.read(value);
  if (field.import.historicalOnly && typeof result === 'number' && result > clock())
    return new InvalidValue(
      `${quote(String(value))} is in the future; give the time at which the lead was created`,
    );
  return result;
}

/** All issues are reported, not only the first. */
export function parseLead(object: Readonly<Record<string, unknown>>, options: ParseOptions): ParsedLead {
  const fields: Record<string, unknown> = {};
  const lead: Record<string, unknown> = { fields };
  const issues: ValidationIssue[] = [];
  for (const field of requiredFields(options))
    if (object[field] === undefined || object[field] === null)
      issues.push({ field, detail: 'is required; add it' });
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

export const CUSTOM_FIELD_PREFIX = 'customFields.';

/**
 * The object that JSON would have for texts: the cells of a CSV row, or the fields of a form. An empty text is null, but an
 * empty custom field is left out, and so is a text without a name.
 */
export function objectFromTexts(
  names: readonly (string | undefined)[],
  texts: readonly string[],
): Readonly<Record<string, unknown>> {
  // Without a prototype, because a name may be __proto__.
  const object: Record<string, unknown> = Object.create(null);
  let customFields: [string, string][] | undefined;
  for (const [index, name] of names.entries()) {
    const text = texts[index] ?? '';
    if (name === undefined) continue;
    if (!name.startsWith(CUSTOM_FIELD_PREFIX)) object[name] = valueOfText(text, PARSERS.get(name)?.type);
    else {
      customFields ??= [];
      if (text !== '') customFields.push([name.slice(CUSTOM_FIELD_PREFIX.length), text]);
    }
  }
  if (customFields !== undefined) object['customFields'] = Object.fromEntries(customFields);
  return object;
}
