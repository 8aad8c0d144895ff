import { SINCE_PATTERN } from '@leadtap/contract';

const PATTERN = new RegExp(SINCE_PATTERN);

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** The years that ISO 8601 writes with four digits. */
const EARLIEST = Date.parse('0000-01-01T00:00:00.000Z');
const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

/** Midnight UTC of a day in milliseconds since 1970, or undefined if the calendar has no such day. */
function parseDay(year: number, month: number, day: number): number | undefined {
  // Not Date.UTC, which reads the years 0 to 99 as 1900 to 1999.
  const date = new Date(0);
  const midnight = date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? midnight : undefined;
}

/** Hours and minutes in milliseconds, or undefined if they are out of range. */
function parseHours(hours: number, minutes: number): number | undefined {
  return hours <= 23 && minutes <= 59 ? hours * HOUR_MS + minutes * MINUTE_MS : undefined;
}

/**
 * Parses an ISO 8601 time to milliseconds since 1970; undefined if it is not one. Fractions are truncated, not rounded: a
 * client that sends back more digits than milliseconds then gets a lead twice rather than never.
 */
export function parseInstant(text: string): number | undefined {
  const match = PATTERN.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = ''] = match;
  const [sign, offsetHours = '0', offsetMinutes = '0'] = match.slice(9);

  const date = parseDay(Number(year), Number(month), Number(day));
  const time = parseHours(Number(hour), Number(minute));
  const offset = parseHours(Number(offsetHours), Number(offsetMinutes));
  if (date === undefined || time === undefined || offset === undefined || Number(second) > 59)
    return undefined;

  const local = date + time + Number(second) * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'));
  const at = sign === '-' ? local + offset : local - offset;
  return Math.min(Math.max(at, EARLIEST), LATEST);
}
