/** The longest window of the service. Nothing that a proxy says makes the client sleep for longer. */
export const LONGEST_HOLD_MS = 3_600_000;

/** `Retry-After` in milliseconds: seconds, or a date that is compared with the clock of the sender. */
export function readRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after')?.trim() ?? '';
  const ms = /^\d+$/.test(value)
    ? Number(value) * 1000
    : Date.parse(value) - Date.parse(headers.get('date') ?? '');
  return ms >= 0 ? Math.min(ms, LONGEST_HOLD_MS) : undefined;
}
