import type { Checkpoint, Lead } from '@leadtap/client';
import type { Answer } from './faulty-network.ts';

export const INTERVAL_MS = 120_000;
const LONGEST_HOLD_MS = 3_600_000;

/** What SPEC.md says about one run of the loop, told apart from how the client does it. */
export class Rules {
  readonly broken: string[] = [];
  readonly #random: number;
  readonly #now: () => number;
  #dueAt: number;
  #holdUntil: number;
  #failures = 0;
  #sentAt = 0;
  #sentSinceTold = 0;
  #told: { readonly remaining: number; readonly endsAt: number }[] = [];
  #page: { readonly since: string | null; readonly etag: string | undefined } | undefined;

  constructor(now: () => number, random: number, checkpoint: Checkpoint | undefined) {
    this.#now = now;
    this.#random = random;
    this.#dueAt = now();
    const notBefore = Date.parse(checkpoint?.notBefore ?? '') || 0;
    this.#holdUntil = notBefore - now() <= LONGEST_HOLD_MS ? notBefore : 0;
  }

  get hasHeard(): boolean {
    return this.#page !== undefined;
  }

  /** Whether all that is known has been asked for, so that it waits for its next turn. */
  get isAtRest(): boolean {
    return this.hasHeard && this.#failures === 0 && this.#dueAt > this.#now();
  }

  /** @param since where the consumer is; null before the feed has begun */
  requested(address: string, headers: Readonly<Record<string, string>>, since: string | null): void {
    const query = new URL(address).searchParams;
    this.#expect('since is where the consumer is', query.get('since'), since);
    this.#expect('limit', query.get('limit'), since === null ? '1' : '100');
    const isRepeated = since !== null && this.#page?.since === since;
    this.#expect(
      'the page is asked for conditionally',
      headers['if-none-match'],
      isRepeated ? this.#page?.etag : undefined,
    );
    this.#checkTime();
    this.#sentAt = this.#now();
    this.#sentSinceTold += 1;
  }

  /** A whole answer came. */
  answered(answer: Answer, isNews: (lead: Lead) => boolean, since: string | null): void {
    this.#readLimits(answer.headers);
    const leads = leadsOf(answer);
    if (!leads) {
      this.failed(Number(answer.headers['retry-after'] ?? 0));
      return;
    }
    this.#failures = 0;
    const isMoreThere = since !== null && leads.length >= 100 && leads.some(isNews);
    this.#dueAt = isMoreThere ? this.#now() : this.#sentAt + INTERVAL_MS;
    this.#page = { since, etag: answer.headers['etag'] };
  }

  failed(retryAfterS = 0): void {
    this.#holdUntil = this.#now() + retryAfterS * 1000;
    this.#dueAt = this.#holdUntil + this.#random * Math.min(60_000, 1000 * 2 ** this.#failures);
    this.#failures += 1;
  }

  /** The consumer needed time for a lead, so what was due may be late. */
  handled(): void {
    this.#dueAt = Math.max(this.#dueAt, this.#now());
  }

  #readLimits(headers: Answer['headers']): void {
    const limits = [...(headers['ratelimit'] ?? '').matchAll(/r=(\d+);t=(\d+)/g)];
    if (limits.length === 0) return;
    this.#told = limits.map(([, r, t]) => ({ remaining: Number(r), endsAt: this.#now() + Number(t) * 1000 }));
    this.#sentSinceTold = 0;
  }

  #checkTime(): void {
    const now = this.#now();
    const used = this.#told.filter(({ remaining }) => remaining <= this.#sentSinceTold);
    const opensAt = Math.max(0, ...used.map(({ endsAt }) => endsAt));
    const expected = Math.ceil(Math.max(this.#dueAt, this.#holdUntil, opensAt));
    // Late by a window at most, where a new window began that no answer announced.
    const isTight = this.#told.some(({ remaining }) => remaining <= this.#sentSinceTold + 1);
    const isRight = isTight ? now >= expected && now <= expected + LONGEST_HOLD_MS : now === expected;
    if (!isRight) this.broken.push(`a request at ${now} that was due at ${expected}`);
  }

  #expect(what: string, found: string | null | undefined, expected: string | null | undefined): void {
    if (found !== expected) this.broken.push(`${what}: ${found} instead of ${expected}`);
  }
}

/** Undefined when the answer is not a page. */
export function leadsOf({ status, headers, body }: Answer): Lead[] | undefined {
  if (status === 304) return [];
  const isPage = status === 200 && headers['content-type']?.includes('json');
  return isPage ? JSON.parse(body.toString()) : undefined;
}
