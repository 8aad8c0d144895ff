/** The current time in whole milliseconds since 1970. Passed in wherever a decision depends on it, so that tests control it. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();

const DAY_MS = 86_400_000;
/** `2026-03-02T09:30:00.000Z` */
export const toIso = (ms: number): string => new Date(ms).toISOString();

export const toIsoOrNull = (ms: number | null | undefined): string | null =>
  ms === null || ms === undefined ? null : toIso(ms);

const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: DAY_MS,
  y: 365 * DAY_MS,
};

/** `90s`, `15m`, `2h`, `1d` or `1y` in milliseconds; undefined if the text is not a duration. */
export function toDurationMs(text: string): number | undefined {
  const [, count = '', unit = ''] = /^(\d{1,7})([smhdy])$/.exec(text) ?? [];
  const durationMs = Number(count) * (UNIT_MS[unit] ?? 0);
  return durationMs > 0 ? durationMs : undefined;
}

/** The name as `Intl` has it; undefined if there is no such time zone. */
export function findTimeZone(name: unknown): string | undefined {
  // The default: Intl loads the data of all zones, which takes a tenth of the start of a command.
  if (name === 'UTC') return name;
  if (typeof name !== 'string') return undefined;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

/** The later of two times that may be unknown. */
export function laterOf(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.max(a, b);
}

/** The times that every database can store. */
export const MIN_TIME = Date.parse('0001-01-01T00:00:00.000Z');
export const MAX_TIME = Date.parse('9999-12-31T23:59:59.999Z');
