/** Reads single values by the type and the import rule that `IMPORT_FIELDS` gives their field. */

import type { ImportField, ImportRule, LeadFieldType } from '@leadtap/contract';
import { formatCount } from '@leadtap/contract';
import { quote } from '../lib/escape.ts';
import { isJsonObject } from '../lib/json.ts';
import { parseInstant } from './instant.ts';

/** A value that cannot be stored. The detail describes the error and how to fix it, after the name of the field. */
export class InvalidValue {
  readonly detail: string;

  constructor(detail: string) {
    this.detail = detail;
  }
}

/** Returns the value as the store takes it. */
export type Reader<T = unknown> = (value: unknown) => T | InvalidValue;

/** Characters that show nothing. Unicode counts the empty braille pattern as a symbol. */
const INVISIBLE = /^[\s\p{Cc}\p{Default_Ignorable_Code_Point}\u2800]*$/u;

/** What a person would call empty: nothing, invisible characters, or a list or an object of nothing else. */
export function isBlank(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (typeof value === 'string') return INVISIBLE.test(value);
  return typeof value === 'object' && Object.values(value).every(isBlank);
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** PostgreSQL stores no NUL in a text, and no database stores half of a surrogate pair, which is all that `Cs` matches. */
const UNSTORABLE = /[\0\p{Cs}]/u;
const unstorable = (text: string): string =>
  `${quote(text)} contains a NUL character or half of a surrogate pair; remove it`;

const text =
  ({ maxLength = Number.POSITIVE_INFINITY }: ImportRule): Reader<string> =>
  (value) => {
    if (typeof value !== 'string') return new InvalidValue(`must be a string, not ${typeName(value)}`);
    if (value.length > maxLength)
      return new InvalidValue(
        `has ${formatCount(value.length)} characters; shorten it to at most ${formatCount(maxLength)}`,
      );
    return UNSTORABLE.test(value) ? new InvalidValue(unstorable(value)) : value;
  };

/** Reads a text that `parse` accepts. The detail follows the text that it does not accept. */
const parsedText =
  <T>(parse: (text: string) => T | undefined, detail: string) =>
  (rule: ImportRule): Reader<T> => {
    const readText = text(rule);
    return (value) => {
      const string = readText(value);
      if (string instanceof InvalidValue) return string;
      return parse(string) ?? new InvalidValue(`${quote(string)} ${detail}`);
    };
  };

/** Without the spaces around it, which people do not see. */
const trimmedText = parsedText((string) => string.trim(), '');

const textMatching = (pattern: RegExp, detail: string) =>
  parsedText((string) => (pattern.test(string) ? string : undefined), detail);

const EMAIL = /^[^\s@]+@[^\s@]+$/;
const email = parsedText((string) => {
  const address = string.trim();
  return EMAIL.test(address) ? address : undefined;
}, 'is not an e-mail address; write it like ada@example.com');

const boolean = (): Reader<boolean> => (value) =>
  typeof value === 'boolean'
    ? value
    : new InvalidValue('must be true or false (in CSV and forms also yes, no, on, off, 1 or 0)');

const WEB_ADDRESS = /^https?:\/\/\S+$/i;
const webAddress = parsedText(
  (url) => (WEB_ADDRESS.test(url) && URL.canParse(url) ? url : undefined),
  'is not a web address; it must begin with https:// or http://',
);

const urls = ({ maxItems = Number.POSITIVE_INFINITY, ...rule }: ImportRule): Reader<readonly string[]> => {
  const readUrl = webAddress(rule);
  return (value) => {
    if (!Array.isArray(value))
      return new InvalidValue(`must be an array of web addresses, not ${typeName(value)}`);
    if (value.length > maxItems)
      return new InvalidValue(
        `has ${formatCount(value.length)} entries; keep at most ${formatCount(maxItems)}`,
      );
    const read: string[] = [];
    for (const [index, item] of value.entries()) {
      const url = readUrl(item);
      if (url instanceof InvalidValue) return new InvalidValue(`entry ${index + 1}: ${url.detail}`);
      read.push(url);
    }
    return read;
  };
};

/** JavaScript rounds whole numbers beyond 2^53 when it parses JSON, and reads 1e999 as infinite. */
const TOO_LARGE = 'is too large to be stored exactly; write it as a string';
const isExact = (value: number): boolean =>
  Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));

/** An empty text means that the field was not filled in. */
const withoutEmpty = (object: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.values(object).includes('')
    ? Object.fromEntries(Object.entries(object).filter(([, value]) => value !== ''))
    : object;

export const NAMELESS_CUSTOM_FIELD = 'give each custom field a name, such as customFields.source';

/** PostgreSQL writes 1e-300 with all its zeros. */
const countZeros = (value: number): number =>
  value !== 0 && Math.abs(value) < 1e-6 ? Math.ceil(-Math.log10(Math.abs(value))) : 0;

/** `JSON.stringify` runs out of stack near 4,000 levels, and a lead that cannot be rendered would stop every poll. */
const object = ({ maxBytes = Number.POSITIVE_INFINITY, maxLevels = 100 }: ImportRule): Reader => {
  let zeros = 0;
  const tooLong = (bytes: number): InvalidValue =>
    new InvalidValue(
      `takes ${formatCount(bytes)} bytes as JSON; shorten it to at most ${formatCount(maxBytes)}`,
    );
  /** What is wrong with the first part of a JSON value that cannot be stored unchanged; undefined if nothing is. */
  function findUnstorable(value: unknown, path: string, level: number): string | undefined {
    if (typeof value === 'string') return UNSTORABLE.test(value) ? unstorable(value) : undefined;
    if (typeof value === 'number') {
      zeros += countZeros(value);
      return isExact(value) ? undefined : `${quote(path)} ${TOO_LARGE}`;
    }
    if (typeof value !== 'object' || value === null) return undefined;
    if (level > maxLevels) return `is nested deeper than ${maxLevels} levels; flatten it`;
    for (const [key, inner] of Object.entries(value)) {
      if (level === 1 && isBlank(key)) return NAMELESS_CUSTOM_FIELD;
      const innerPath = path === '' ? key : `${path}.${key}`;
      const detail = findUnstorable(key, path, level) ?? findUnstorable(inner, innerPath, level + 1);
      if (detail !== undefined) return detail;
    }
    return undefined;
  }
  return (value) => {
    if (!isJsonObject(value)) return new InvalidValue(`must be an object, not ${typeName(value)}`);
    // First, because it is fast: the other checks of a value of 1 MiB take a tenth of a second.
    const bytes = countJsonBytes(value);
    if (bytes !== undefined && bytes > maxBytes) return tooLong(bytes);
    zeros = 0;
    const detail = findUnstorable(value, '', 1);
    if (detail !== undefined) return new InvalidValue(detail);
    const storedBytes = (bytes ?? 0) + zeros;
    return storedBytes > maxBytes ? tooLong(storedBytes) : withoutEmpty(value);
  };
};

/** Undefined if the value is nested too deep for `JSON.stringify`. */
function countJsonBytes(value: unknown): number | undefined {
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch {
    return undefined;
  }
}

/** JSON of other systems has ids, phone numbers and postal codes without quotes. */
const orNumber =
  (create: (rule: ImportRule) => Reader) =>
  (rule: ImportRule): Reader => {
    const read = create(rule);
    return (value) => {
      if (typeof value !== 'number') return read(value);
      return isExact(value) ? read(String(value)) : new InvalidValue(TOO_LARGE);
    };
  };

/** An id is shown in terminals, tables and logs, where these characters would hide or reverse parts of it. */
const ID = /^[^\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]+$/u;

const NOT_A_TIME = 'is not a time; write ISO 8601, such as 2026-03-05T14:00:00Z';

/** Reads a time as `parse` does. */
export const createTimeReader = (
  parse: (text: string) => number | undefined,
  detail = NOT_A_TIME,
): Reader<number> => parsedText(parse, detail)({});

const READERS: { readonly [T in LeadFieldType]?: (rule: ImportRule) => Reader } = {
  id: orNumber(
    textMatching(
      ID,
      'is not an id; remove its control characters and those that change the direction of text',
    ),
  ),
  text: orNumber(trimmedText),
  email,
  instant: () => createTimeReader((string) => parseInstant(string)),
  timeOfDay: textMatching(
    /^(?:[01]\d|2[0-3]):[0-5]\d$/,
    'is not a time of day; write HH:MM, from 00:00 to 23:59',
  ),
  // A value or a label of the company's catalogue, which the store has.
  statusCode: text,
  object,
  urls,
  boolean,
};

export function createFieldReader({ name, type, import: rule }: ImportField): Reader {
  const create = READERS[type];
  if (create === undefined)
    throw new Error(`${name} cannot be imported: fields of type ${type} have no reader`);
  return create(rule);
}

const URL_SEPARATOR = '|';
/** Far more than a lead may have: the reader refuses them. A text of 1 MiB could have a million. */
const MAX_URLS = 1000;
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['yes', true],
  // What a browser sends for a ticked checkbox.
  ['on', true],
  ['1', true],
  ['false', false],
  ['no', false],
  ['off', false],
  ['0', false],
]);

/** The value that JSON would have for a text of CSV or of a form. What cannot be converted is left to the reader. */
export function valueOfText(text: string, type: LeadFieldType | undefined): unknown {
  if (text === '') return null;
  if (type === 'urls') return text.split(URL_SEPARATOR, MAX_URLS).map((url) => url.trim());
  return type === 'boolean' ? (BOOLEANS.get(text.toLowerCase()) ?? text) : text;
}
