import { SINCE_PATTERN } from '@leadtap/contract';

/** The years that ISO 8601 writes with four digits. */
const EARLIEST = Date.parse('0000-01-01T00:00:00.000Z');
const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

const OWN_NOTATION = /^\d{4}-\d\d-(\d\d)T\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * Parses our own notation, as in `createdAt` and `Link`. Undefined if the calendar or the clock has no such time: `Date.parse` reads
 * 30 February as 2 March, and 24:00 as the next day.
 */
export function parseUtc(iso: string): number | undefined {
  const day = OWN_NOTATION.exec(iso)?.[1];
  const date = new Date(day === undefined ? Number.NaN : iso);
  return date.getUTCDate() === Number(day) ? date.getTime() : undefined;
}

/**
 * Parses an ISO 8601 time to milliseconds since 1970; undefined if it is not one. Fractions are truncated, not rounded: a
 * client that sends back more digits than milliseconds then gets a lead twice rather than never. `toUtc` decides what a time
 * without an offset means; by default it is UTC.
 */
export function parseInstant(
  text: string,
  toUtc: (local: number) => number | undefined = (local) => local,
): number | undefined {
  const own = parseUtc(text);
  if (own !== undefined) return own;
  const match = SINCE_PATTERN.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour = '00', minute = '00', second = '00', fraction = ''] = match;
  const [zulu, sign, offsetHours = '00', offsetMinutes = '00'] = match.slice(8);

  const milliseconds = fraction.slice(0, 3).padEnd(3, '0');
  const local = parseUtc(`${year}-${month}-${day}T${hour}:${minute}:${second}.${milliseconds}Z`);
  const offset = sign === undefined ? 0 : parseUtc(`1970-01-01T${offsetHours}:${offsetMinutes}:00.000Z`);
  if (local === undefined || offset === undefined) return undefined;
  const isLocal = zulu === undefined && sign === undefined;
  const at = isLocal ? toUtc(local) : sign === '-' ? local + offset : local - offset;
  return at === undefined ? undefined : Math.min(Math.max(at, EARLIEST), LATEST);
}
