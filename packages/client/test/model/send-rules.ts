import type { FetchOptions } from '@leadtap/client';
import type { Answer } from './faulty-network.ts';

/** What SPEC.md says about the requests of one call of `sendLeads`, apart from how the client does it. */
export class SendRules {
  readonly broken: string[] = [];
  readonly #now: () => number;
  readonly #random: number;
  readonly #maxAttempts: number;
  #dueAt: number;
  #failures = 0;
  #attempts = 0;
  #sentSinceTold = 0;
  #told: { readonly remaining: number; readonly endsAt: number }[] = [];
  /** The request that is not confirmed yet. */
  #pending: { readonly key: string | undefined; readonly body: string } | undefined;
  readonly #confirmedKeys = new Set<string>();

  constructor(now: () => number, random: number, maxAttempts: number) {
    this.#now = now;
    this.#random = random;
    this.#maxAttempts = maxAttempts;
    this.#dueAt = now();
  }

  requested({ method, headers, body = '' }: FetchOptions): void {
    const key = headers['idempotency-key'];
    this.#expect('the method', method, 'POST');
    if (this.#pending) {
      this.#expect('the key of a retry', key, this.#pending.key);
      this.#expect('the body of a retry', body, this.#pending.body);
    } else {
      if (key !== undefined && this.#confirmedKeys.has(key)) this.broken.push('two requests have one key');
      this.#attempts = 0;
    }
    const leads: { id?: string }[] = JSON.parse(body);
    if (leads.length > 1000) this.broken.push('a request has more than 1,000 leads');
    if (key === undefined && leads.some(({ id }) => id === undefined)) this.broken.push('there is no key');
    this.#pending = { key, body };
    this.#attempts += 1;
    if (this.#attempts > this.#maxAttempts) this.broken.push('a request was sent too often');
    this.#checkTime();
    this.#sentSinceTold += 1;
  }

  /** A whole answer came. */
  answered({ status, headers, body }: Answer): void {
    const limits = [...(headers['ratelimit'] ?? '').matchAll(/r=(\d+);t=(\d+)/g)];
    if (limits.length > 0) {
      this.#told = limits.map(([, r, t]) => ({
        remaining: Number(r),
        endsAt: this.#now() + Number(t) * 1000,
      }));
      this.#sentSinceTold = 0;
    }
    const isConfirmed = status < 300 && body.toString().startsWith('{"leads":');
    if (!isConfirmed) {
      this.failed(Number(headers['retry-after'] ?? 0));
      return;
    }
    this.#failures = 0;
    this.#dueAt = this.#now();
    if (this.#pending?.key !== undefined) this.#confirmedKeys.add(this.#pending.key);
    this.#pending = undefined;
  }

  failed(retryAfterS = 0): void {
    const backOffMs = this.#random * Math.min(60_000, 1000 * 2 ** this.#failures);
    this.#dueAt = this.#now() + retryAfterS * 1000 + backOffMs;
    this.#failures += 1;
  }

  #checkTime(): void {
    const used = this.#told.filter(({ remaining }) => remaining <= this.#sentSinceTold);
    const expected = Math.ceil(Math.max(this.#dueAt, ...used.map(({ endsAt }) => endsAt)));
    if (this.#now() !== expected) this.broken.push(`a request at ${this.#now()} that was due at ${expected}`);
  }

  #expect(what: string, found: string | undefined, expected: string | undefined): void {
    if (found !== expected) this.broken.push(`${what}: ${found} instead of ${expected}`);
  }
}
