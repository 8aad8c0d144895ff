/** What one of the limits of the service leaves, as the headers `RateLimit` and `RateLimit-Policy` told. */
export interface RateLimit {
  readonly name: string;
  /** So many requests are left… */
  readonly remaining: number;
  /** …for so long. */
  readonly resetMs: number;
  /** Then there are so many again… */
  readonly quota: number;
  /** …for so long. */
  readonly windowMs: number;
}

type Parameters = Readonly<Record<string, number>>;

/** Reads a list such as `"minute";r=99;t=60, "hour";r=999;t=3600`. */
function readList(header: string | null): Map<string, Parameters> {
  const items = (header ?? '').matchAll(/"([^"]*)"((?:\s*;\s*\w+=\d+)*)/g);
  return new Map(
    [...items].map(([, name = '', parameters = '']) => [
      name,
      Object.fromEntries(
        [...parameters.matchAll(/(\w+)=(\d+)/g)].map(([, key = '', value]) => [key, Number(value)]),
      ),
    ]),
  );
}

/** Limits that do not say all that is needed to keep them are left out. */
export function readRateLimits(headers: Headers): RateLimit[] {
  const policies = readList(headers.get('ratelimit-policy'));
  return [...readList(headers.get('ratelimit'))].flatMap(([name, { r, t }]) => {
    const { q, w } = policies.get(name) ?? {};
    if (r === undefined || q === undefined || w === undefined) return [];
    return { name, remaining: r, resetMs: (t ?? w) * 1000, quota: q, windowMs: w * 1000 };
  });
}

interface Window {
  readonly limit: RateLimit;
  remaining: number;
  endsAt: number;
}

/**
 * Counts along with the service. Every request that is sent counts, because one whose answer is lost has been counted
 * there all the same.
 */
export class Allowance {
  #windows: readonly Window[] = [];

  /** What the service says replaces what was counted here. */
  told(limits: readonly RateLimit[], now: number): void {
    if (limits.length === 0) return;
    this.#windows = limits.map((limit) => ({
      limit,
      remaining: limit.remaining,
      endsAt: now + limit.resetMs,
    }));
  }

  sent(now: number): void {
    for (const window of this.#windows) {
      if (now >= window.endsAt) {
        window.remaining = window.limit.quota;
        window.endsAt = now + window.limit.windowMs;
      }
      window.remaining -= 1;
    }
  }

  /** When the next request may be sent, as far as is known. */
  opensAt(): number {
    const used = this.#windows.filter(({ remaining }) => remaining < 1);
    return Math.max(0, ...used.map(({ endsAt }) => endsAt));
  }
}
