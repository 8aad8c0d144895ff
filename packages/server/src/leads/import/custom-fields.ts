import { isJsonObject } from '../../store/records.ts';
import { shown, ValidationIssue } from './validation-issue.ts';
import { isWellFormed, kindOf, number, type Reader, SUSPICIOUS } from './values.ts';

const MAX_BYTES = 64 * 1024;
/** JSON.stringify runs out of stack near 4,000 levels, and a lead that cannot be rendered would stop every poll. */
const MAX_LEVELS = 100;
/** JSON writes a character with at most so many bytes, and a number, or what stands around a value, with as many characters. */
const MOST_BYTES = 6;
const MOST_DIGITS = 25;

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
const isUnkeepable = (text: string): boolean => text.includes('\0') || !isWellFormed(text);

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

/** The readers' rules one by one, each with what it says. */
function check(
  value: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> | ValidationIssue {
  if (nestsDeeper(value, MAX_LEVELS))
    return new ValidationIssue(`is nested deeper than ${MAX_LEVELS} levels; flatten it`);
  const changed = changedNumber(value);
  if (changed !== undefined)
    return new ValidationIssue(`${shown(changed)} is too large to be kept exactly; write it as a string`);
  const unkeepable = unkeepableText(value);
  if (unkeepable !== undefined)
    return new ValidationIssue(`${shown(unkeepable)} holds a NUL or half a character; remove it`);
  const bytes = Buffer.byteLength(JSON.stringify(value));
  if (bytes <= MAX_BYTES) return value;
  return new ValidationIssue(`takes ${number(bytes)} bytes as JSON; keep it within ${number(MAX_BYTES)}`);
}

/** How many bytes are left for others, at least, when this value is written as JSON; negative when a rule may be broken. */
function roomAfter(value: unknown, room: number, levels: number): number {
  if (typeof value === 'string')
    return SUSPICIOUS.test(value) ? -1 : room - MOST_BYTES * (value.length + MOST_DIGITS);
  if (typeof value === 'number' && isChanged(value)) return -1;
  let left = room - MOST_BYTES * MOST_DIGITS;
  if (typeof value !== 'object' || value === null) return left;
  if (levels === 0) return -1;
  for (const [key, inner] of Object.entries(value)) {
    if (left < 0 || SUSPICIOUS.test(key)) return -1;
    left = roomAfter(inner, left - MOST_BYTES * (key.length + MOST_DIGITS), levels - 1);
  }
  return left;
}

/** Nearly all are small and plain, as one walk shows. */
export const customFields: Reader<Readonly<Record<string, unknown>>> = (value) => {
  if (!isJsonObject(value)) return new ValidationIssue(`must be an object, not ${kindOf(value)}`);
  return roomAfter(value, MAX_BYTES, MAX_LEVELS) >= 0 ? value : check(value);
};
