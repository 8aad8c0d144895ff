/** The quota that is left of one of the service's limits, from the header `RateLimit`. */
export interface RateLimit {
  readonly name: string;
  /** Requests that are left in the window. */
  readonly remaining: number;
  /** Until the window ends. */
  readonly resetMs: number;
  /** Requests of a whole window, from `RateLimit-Policy`; undefined when the service does not say. */
  readonly quota: number | undefined;
}

/** Reads a list such as `"minute";r=99;t=60, "hour";r=999;t=3600`. Items without both parameters are left out. */
export function readRateLimits(headers: Headers): RateLimit[] {
  const policies = readItems(headers.get('ratelimit-policy'));
  return readItems(headers.get('ratelimit')).flatMap(({ name, parameters: { r, t } }) => {
    const quota = policies.find((policy) => policy.name === name)?.parameters['q'];
    return r === undefined || t === undefined ? [] : { name, remaining: r, resetMs: t * 1000, quota };
  });
}

interface Item {
  readonly name: string;
  readonly parameters: Readonly<Record<string, number>>;
}

const readItems = (list: string | null): Item[] =>
  [...(list ?? '').matchAll(/"([^"]*)"((?:\s*;\s*\w+=\d+)*)/g)].map(([, name = '', parameters = '']) => ({
    name,
    parameters: Object.fromEntries(
      [...parameters.matchAll(/\b(\w+)=(\d+)/g)].map(([, key = '', value]) => [key, Number(value)]),
    ),
  }));

/** Where no limits are announced, a service that answers at once instead of waiting must not be flooded. */
const UNKNOWN_SPACING_MS = 1_000;

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

  /** The time between two requests that makes the quota last until each window ends. */
  spacingMs(now: number): number {
    if (this.#windows.length === 0) return UNKNOWN_SPACING_MS;
    const open = this.#windows.filter(({ remaining }) => remaining > 0);
    return Math.max(0, ...open.map(({ remaining, endsAt }) => (endsAt - now) / remaining));
  }
}
