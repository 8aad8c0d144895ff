/** Readers of single values. Each gives the value as the store takes it, or a mend. */
import { toUSVString } from 'node:util';
import type { Clock } from '../../clock.ts';
import { isJsonObject } from '../../json-object.ts';
import { parseInstant } from '../since.ts';
import { Mend, shown } from './mend.ts';

export type Reader<T> = (value: unknown) => T | Mend;

const MAX_IMAGES = 50;
const MAX_URL_CHARACTERS = 2048;
const MAX_CUSTOM_FIELDS_BYTES = 64 * 1024;
/** JSON.stringify runs out of stack near 4,000 levels, and a lead that cannot be rendered would stop every poll. */
const MAX_CUSTOM_FIELDS_LEVELS = 100;

const number = (value: number): string => value.toLocaleString('en');

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

export const text =
  (maxCharacters: number): Reader<string> =>
  (value) => {
    if (typeof value !== 'string') return new Mend(`must be a string, not ${kindOf(value)}`);
    if (value.length > maxCharacters)
      return new Mend(
        `has ${number(value.length)} characters; shorten it to at most ${number(maxCharacters)}`,
      );
    if (value.includes('\0')) return new Mend('contains a NUL character; remove it');
    return toUSVString(value);
  };

const matching =
  (read: Reader<string>, pattern: RegExp, mend: string): Reader<string> =>
  (value) => {
    const string = read(value);
    if (string instanceof Mend || pattern.test(string)) return string;
    return new Mend(`${shown(string)} ${mend}`);
  };

export const id = matching(
  text(200),
  /^\P{Cc}+$/u,
  'is not an id; give 1 to 200 characters without control characters',
);

export const email = matching(
  text(320),
  /^[^\s@]+@[^\s@]+$/,
  'is not an e-mail address; write it like ada@example.com',
);

export const timeslot = matching(
  text(5),
  /^(?:[01]\d|2[0-3]):[0-5]\d$/,
  'is not a time of day; write HH:MM, from 00:00 to 23:59',
);

export const statusValue = matching(
  text(64),
  /^[A-Z][A-Z0-9_]*$/,
  'is not a status; write an upper-case word, such as NEW',
);

export const instant: Reader<number> = (value) => {
  const string = text(100)(value);
  if (string instanceof Mend) return string;
  return (
    parseInstant(string) ??
    new Mend(`${shown(string)} is not a time; write ISO 8601, such as 2026-03-05T14:00:00Z`)
  );
};

export const past =
  (clock: Clock): Reader<number> =>
  (value) => {
    const at = instant(value);
    if (at instanceof Mend || at <= clock()) return at;
    return new Mend(
      `${shown(String(value))} lies in the future; history needs the time at which the lead was created`,
    );
  };

export const boolean: Reader<boolean> = (value) =>
  typeof value === 'boolean' ? value : new Mend('must be true or false (in CSV also yes, no, 1 or 0)');

const imageUrl: Reader<string> = (value) => {
  const url = text(MAX_URL_CHARACTERS)(value);
  if (url instanceof Mend) return url;
  if (/^https?:\/\/\S+$/i.test(url) && URL.canParse(url)) return url;
  return new Mend(`${shown(url)} is not a web address; it must begin with https:// or http://`);
};

export const images: Reader<readonly string[]> = (value) => {
  if (!Array.isArray(value)) return new Mend(`must be an array of web addresses, not ${kindOf(value)}`);
  if (value.length > MAX_IMAGES)
    return new Mend(`has ${number(value.length)} images; keep at most ${MAX_IMAGES}`);
  const urls: string[] = [];
  for (const [index, item] of value.entries()) {
    const url = imageUrl(item);
    if (url instanceof Mend) return new Mend(`image ${index + 1}: ${url.text}`);
    urls.push(url);
  }
  return urls;
};

const nestsDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => nestsDeeper(inner, levels - 1)));

/** Beyond 2^53, JavaScript has changed a whole number by the time it has read it, and 1e999 is infinite to it. */
const isChanged = (value: number): boolean =>
  !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value));

/** The name of the first such number, as `order.number`; undefined when there is none. */
function changedNumber(object: object): string | undefined {
  for (const [key, value] of Object.entries(object)) {
    if (typeof value === 'number' && isChanged(value)) return key;
    const inner = typeof value === 'object' && value !== null ? changedNumber(value) : undefined;
    if (inner !== undefined) return `${key}.${inner}`;
  }
  return undefined;
}

/** PostgreSQL keeps no NUL in a text, and halves of a character are no text. Keys are read like values. */
const isUnkeepable = (text: string): boolean => text.includes('\0') || toUSVString(text) !== text;

/** The first such text; undefined when there is none. */
function unkeepableText(value: unknown): string | undefined {
  if (typeof value === 'string') return isUnkeepable(value) ? value : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const found = isUnkeepable(key) ? key : unkeepableText(inner);
    if (found !== undefined) return found;
  }
  return undefined;
}

export const customFields: Reader<Readonly<Record<string, unknown>>> = (value) => {
  if (!isJsonObject(value)) return new Mend(`must be an object, not ${kindOf(value)}`);
  if (nestsDeeper(value, MAX_CUSTOM_FIELDS_LEVELS))
    return new Mend(`is nested deeper than ${MAX_CUSTOM_FIELDS_LEVELS} levels; flatten it`);
  const changed = changedNumber(value);
  if (changed !== undefined)
    return new Mend(`${shown(changed)} is too large to be kept exactly; write it as a string`);
  const unkeepable = unkeepableText(value);
  if (unkeepable !== undefined)
    return new Mend(`${shown(unkeepable)} holds a NUL or half a character; remove it`);
  const bytes = Buffer.byteLength(JSON.stringify(value));
  if (bytes <= MAX_CUSTOM_FIELDS_BYTES) return value;
  return new Mend(`takes ${number(bytes)} bytes as JSON; keep it within ${number(MAX_CUSTOM_FIELDS_BYTES)}`);
};

/** Null clears: to null where a field may be unknown, else to its default. */
export const nullOr =
  <T, N>(read: Reader<T>, cleared: N): Reader<T | N> =>
  (value) =>
    value === null ? cleared : read(value);
