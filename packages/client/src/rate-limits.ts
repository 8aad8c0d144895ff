/** The quota that is left of one of the service's limits, from the header `RateLimit`. */
export interface RateLimit {
  readonly name: string;
  /** Requests that are left in the window. */
  readonly remaining: number;
  /** Until the window ends. */
  readonly resetMs: number;
}

/** Reads a list such as `"minute";r=99;t=60, "hour";r=999;t=3600`. Items without both parameters are left out. */
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
 * The quota as the client knows it. Every request that is sent counts, because the service has counted it even if its
 * response is lost. A new window need not be counted: the next response has its quota.
 */
export class Allowance {
  #windows: readonly Window[] = [];

  /** What the service says replaces what was counted here. */
  update(limits: readonly RateLimit[], now: number): void {
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
