/** What one of the limits of the service leaves, as the header `RateLimit` told. */
export interface RateLimit {
  readonly name: string;
  /** So many requests are left… */
  readonly remaining: number;
  /** …for so long. */
  readonly resetMs: number;
}

/** Reads a list such as `"minute";r=99;t=60, "hour";r=999;t=3600`. What does not tell both is left out. */
export function readRateLimits(headers: Headers): RateLimit[] {
  const items = (headers.get('ratelimit') ?? '').matchAll(/"([^"]*)"((?:\s*;\s*\w+=\d+)*)/g);
  return [...items].flatMap(([, name = '', parameters = '']) => {
    const r = /\br=(\d+)/.exec(parameters)?.[1];
    const t = /\bt=(\d+)/.exec(parameters)?.[1];
    return r && t ? { name, remaining: Number(r), resetMs: Number(t) * 1000 } : [];
  });
}

interface Window {
  remaining: number;
  readonly endsAt: number;
}

/**
 * Counts along with the service. Every request that is sent counts, because one whose answer is lost has been counted
 * there all the same. What begins when a window has ended need not be counted: the next answer tells, and while answers
 * are lost, requests are few.
 */
export class Allowance {
  #windows: readonly Window[] = [];

  /** What the service says replaces what was counted here. */
  told(limits: readonly RateLimit[], now: number): void {
    if (limits.length === 0) return;
    this.#windows = limits.map(({ remaining, resetMs }) => ({ remaining, endsAt: now + resetMs }));
  }

  sent(): void {
    for (const window of this.#windows) window.remaining -= 1;
  }

  /** When the next request may be sent, as far as is known. */
  opensAt(): number {
    const used = this.#windows.filter(({ remaining }) => remaining < 1);
    return Math.max(0, ...used.map(({ endsAt }) => endsAt));
  }
}
