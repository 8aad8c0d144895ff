/** Readers of single values. Each gives the value as the store takes it, or a mend. */
import { toUSVString } from 'node:util';
import type { Clock } from '../../clock.ts';
import { parseInstant } from '../since.ts';
import { shown, ValidationIssue } from './validation-issue.ts';

export type Reader<T> = (value: unknown) => T | ValidationIssue;

const MAX_IMAGES = 50;
const MAX_URL_CHARACTERS = 2048;

/** A NUL, or half of a character, or what may be half of one. */
export const SUSPICIOUS = /[\0\ud800-\udfff]/;

/** False for text with half of a surrogate pair, which no database keeps. */
export const isWellFormed = (value: string): boolean => toUSVString(value) === value;

export const number = (value: number): string => value.toLocaleString('en');

export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

export const text =
  (maxCharacters: number): Reader<string> =>
  (value) => {
    if (typeof value !== 'string') return new ValidationIssue(`must be a string, not ${kindOf(value)}`);
    if (value.length > maxCharacters)
      return new ValidationIssue(
        `has ${number(value.length)} characters; shorten it to at most ${number(maxCharacters)}`,
      );
    if (!SUSPICIOUS.test(value)) return value;
    if (value.includes('\0')) return new ValidationIssue('contains a NUL character; remove it');
    return isWellFormed(value)
      ? value
      : new ValidationIssue(`${shown(value)} holds half a character; remove it`);
  };

const matching =
  (read: Reader<string>, pattern: RegExp, issue: string): Reader<string> =>
  (value) => {
    const string = read(value);
    if (string instanceof ValidationIssue || pattern.test(string)) return string;
    return new ValidationIssue(`${shown(string)} ${issue}`);
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

const instantText = text(100);

export const instant: Reader<number> = (value) => {
  const string = instantText(value);
  if (string instanceof ValidationIssue) return string;
  return (
    parseInstant(string) ??
    new ValidationIssue(`${shown(string)} is not a time; write ISO 8601, such as 2026-03-05T14:00:00Z`)
  );
};

export const past =
  (clock: Clock): Reader<number> =>
  (value) => {
    const at = instant(value);
    if (at instanceof ValidationIssue || at <= clock()) return at;
    return new ValidationIssue(
      `${shown(String(value))} lies in the future; history needs the time at which the lead was created`,
    );
  };

export const boolean: Reader<boolean> = (value) =>
  typeof value === 'boolean'
    ? value
    : new ValidationIssue('must be true or false (in CSV also yes, no, 1 or 0)');

const urlText = text(MAX_URL_CHARACTERS);
const WEB_ADDRESS = /^https?:\/\/\S+$/i;

const imageUrl: Reader<string> = (value) => {
  const url = urlText(value);
  if (url instanceof ValidationIssue) return url;
  if (WEB_ADDRESS.test(url) && URL.canParse(url)) return url;
  return new ValidationIssue(`${shown(url)} is not a web address; it must begin with https:// or http://`);
};

export const images: Reader<readonly string[]> = (value) => {
  if (!Array.isArray(value))
    return new ValidationIssue(`must be an array of web addresses, not ${kindOf(value)}`);
  if (value.length > MAX_IMAGES)
    return new ValidationIssue(`has ${number(value.length)} images; keep at most ${MAX_IMAGES}`);
  const urls: string[] = [];
  for (const [index, item] of value.entries()) {
    const url = imageUrl(item);
    if (url instanceof ValidationIssue) return new ValidationIssue(`image ${index + 1}: ${url.text}`);
    urls.push(url);
  }
  return urls;
};

/** Null clears: to null where a field may be unknown, else to its default. */
export const nullOr =
  <T, N>(read: Reader<T>, cleared: N): Reader<T | N> =>
  (value) =>
    value === null ? cleared : read(value);
