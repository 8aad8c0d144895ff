import { SINCE_EXAMPLE, SINCE_PATTERN } from '@leadtap/contract';

const PATTERN = new RegExp(SINCE_PATTERN);

const ZERO = '0'.charCodeAt(0);
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** The years that ISO 8601 writes with four digits. */
const EARLIEST = Date.parse('0000-01-01T00:00:00.000Z');
const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

/** Most times that are read one after the other are of the same day. */
let lastDay: { readonly date: number; readonly beganAt: number | undefined } = {
  date: -1,
  beganAt: undefined,
};

/** The midnight that begins a day, or undefined when the calendar has no such day. */
function midnight(year: number, month: number, day: number): number | undefined {
  const date = (year * 100 + month) * 100 + day;
  if (date !== lastDay.date) lastDay = { date, beganAt: findMidnight(year, month, day) };
  return lastDay.beganAt;
}

function findMidnight(year: number, month: number, day: number): number | undefined {
  // Not Date.UTC, which reads the years 0 to 99 as 1900 to 1999.
  const date = new Date(0);
  const at = date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? at : undefined;
}

/** Hours and minutes in milliseconds, or undefined when no clock shows them. */
function hoursAndMinutes(hours: number, minutes: number): number | undefined {
  return hours <= 23 && minutes <= 59 ? hours * HOUR_MS + minutes * MINUTE_MS : undefined;
}

/** `2026-03-02T09:30:00.000Z`, with a day that every month has: the form that Leadtap itself writes, and clients give back. */
const OWN_FORM = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

/** Digit by digit: nearly every poll has one, and `Date.parse` takes three times as long. */
function readOwnForm(text: string): number {
  const two = (at: number) => text.charCodeAt(at) * 10 + text.charCodeAt(at + 1) - 11 * ZERO;
  const milliseconds = two(20) * 10 + text.charCodeAt(22) - ZERO;
  const day = midnight(two(0) * 100 + two(2), two(5), two(8)) ?? Number.NaN;
  return day + two(11) * HOUR_MS + two(14) * MINUTE_MS + two(17) * 1000 + milliseconds;
}

/**
 * Reads an ISO 8601 time as milliseconds since 1970; undefined when it is none. Fractions are cut, not rounded, so
 * that a client that sends back more digits than milliseconds sees a lead again rather than never.
 */
export function parseInstant(text: string): number | undefined {
  if (OWN_FORM.test(text)) return readOwnForm(text);
  const match = PATTERN.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = ''] = match;
  const [sign, offsetHours = '0', offsetMinutes = '0'] = match.slice(9);

  const date = midnight(Number(year), Number(month), Number(day));
  const time = hoursAndMinutes(Number(hour), Number(minute));
  const offset = hoursAndMinutes(Number(offsetHours), Number(offsetMinutes));
  if (date === undefined || time === undefined || offset === undefined || Number(second) > 59)
    return undefined;

  const local = date + time + Number(second) * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'));
  const at = sign === '-' ? local + offset : local - offset;
  return Math.min(Math.max(at, EARLIEST), LATEST);
}

export type SinceReading =
  | { readonly kind: 'instant'; readonly at: number }
  | { readonly kind: 'refused'; readonly detail: string };

/** Reads `since`; a refusal carries the sentence for the caller. */
export function parseSince(text: string): SinceReading {
  const at = parseInstant(text);
  if (at !== undefined) return { kind: 'instant', at };
  return { kind: 'refused', detail: `Give an ISO 8601 date-time, such as ${SINCE_EXAMPLE}.` };
}
