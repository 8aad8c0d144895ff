import { InvalidArgumentError } from 'commander';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const UNIT_MS: Readonly<Record<string, number>> = {
  m: MINUTE_MS,
  h: 60 * MINUTE_MS,
  d: DAY_MS,
  y: 365 * DAY_MS,
};
const LONGEST_MS = 10 * 365 * DAY_MS;

/** `30m`, `12h`, `90d`, `1y`: from a minute to ten years. */
export function parseLifetime(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,7})([mhdy])$/.exec(text) ?? [];
  const lifetimeMs = Number(count) * (UNIT_MS[unit] ?? 0);
  if (lifetimeMs >= MINUTE_MS && lifetimeMs <= LONGEST_MS) return lifetimeMs;
  throw new InvalidArgumentError('Write 30m, 12h, 90d or 1y: from one minute to ten years.');
}
