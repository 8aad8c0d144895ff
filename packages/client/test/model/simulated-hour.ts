import type { Environment, FetchOptions } from '@leadtap/client';
import { addRateLimitHeaders } from '../../../server/src/http/authorize.ts';
import { MemoryLimiter, USER_POLICIES } from '../../../server/src/limits/limiter.ts';

const START = Date.parse('2026-03-02T09:00:00.000Z');
const LATENCY_MS = 20;
const PAGE_SIZE = 100;
const stampOf = (atMs: number): string => new Date(START + Math.round(atMs)).toISOString();

/** What becomes of a request, apart from an answer of the service. */
export type Fault = 'answer-lost' | '503' | 'cut-by-proxy';

export interface HourOptions {
  /** When each lead is committed, in milliseconds from the start; increasing, and no two in one millisecond. */
  readonly arrivalsMs: readonly number[];
  /** When other programs of the same user send a request. */
  readonly othersMs?: readonly number[];
  /** A proxy ends requests that are silent for so long. */
  readonly proxyLimitMs?: number;
  /** The fault of the nth request, if it has one. */
  readonly faultOf?: (request: number) => Fault | undefined;
  /** The service does not know the preference. */
  readonly ignoresWait?: boolean;
}

/**
 * A service with one client, in simulated time: time passes only while the client sleeps or its request is pending, so an
 * hour takes less than a second. The rate limits are the real ones of the service.
 */
export class SimulatedHour {
  readonly #options: HourOptions;
  readonly #limiter: MemoryLimiter;
  readonly #others: number[];
  #nowMs = 0;
  /** Of each request, in order. */
  readonly statuses: number[] = [];
  /** The value of `Prefer` of each request. */
  readonly prefers: (string | undefined)[] = [];

  constructor(options: HourOptions) {
    this.#options = options;
    this.#others = [...(options.othersMs ?? [])];
    this.#limiter = new MemoryLimiter(USER_POLICIES, () => START + this.#nowMs);
  }

  /** Milliseconds from the start. */
  get nowMs(): number {
    return this.#nowMs;
  }

  get start(): string {
    return stampOf(-1);
  }

  arrivalOf(id: string): number {
    return this.#options.arrivalsMs[Number(id)] ?? Number.NaN;
  }

  environment(): Environment {
    return {
      now: () => START + this.#nowMs,
      sleep: async (ms) => this.#advance(ms),
      random: () => 0.5,
      uniqueId: () => 'unused',
      timeLimit: () => new AbortController().signal,
      fetch: async (url, init) => this.#fetch(new URL(url), init),
    };
  }

  #advance(ms: number): void {
    this.#nowMs += ms;
  }

  #fetch(url: URL, { headers, signal }: FetchOptions): Response {
    signal.throwIfAborted();
    this.#advance(LATENCY_MS / 2);
    while ((this.#others[0] ?? Number.POSITIVE_INFINITY) <= this.#nowMs) {
      this.#others.shift();
      this.#limiter.consume('boss');
    }
    const verdict = this.#limiter.consume('boss');
    const answered: string[] = [];
    addRateLimitHeaders(answered, verdict);
    const isRefused = verdict.violated.length > 0;
    this.statuses.push(isRefused ? 429 : 200);
    this.prefers.push(headers['prefer']);
    const fault = this.#options.faultOf?.(this.statuses.length - 1);
    if (isRefused) return respond(429, { code: 'rate-limit-exceeded', detail: 'Too many.' }, answered);
    if (fault === '503') return respond(503, { code: 'unavailable', detail: 'Not now.' }, answered);
    const since = Date.parse(url.searchParams.get('since') ?? '') - START;
    const waitMs = 1000 * Number(/wait=(\d+)/.exec(headers['prefer'] ?? '')?.[1] ?? 0);
    const isHeld = !this.#options.ignoresWait && waitMs > 0;
    const until = this.#nowMs + Math.min(isHeld ? waitMs : 0, this.#options.proxyLimitMs ?? waitMs);
    const next = this.#options.arrivalsMs.find((at) => at > since) ?? Number.POSITIVE_INFINITY;
    const isCut = fault === 'cut-by-proxy' || (next > until && until < this.#nowMs + (isHeld ? waitMs : 0));
    this.#nowMs = Math.max(this.#nowMs, Math.min(until, next));
    if (isCut) return respond(504, undefined, []);
    this.#advance(LATENCY_MS / 2);
    if (fault === 'answer-lost') throw new TypeError('fetch failed');
    if (isHeld) answered.push('preference-applied', `wait=${waitMs / 1000}`);
    return this.#page(since, answered);
  }

  #page(since: number, headers: string[]): Response {
    const { arrivalsMs } = this.#options;
    const first = arrivalsMs.findIndex((at) => at > since);
    const leads = (first < 0 ? [] : arrivalsMs.slice(first, first + PAGE_SIZE))
      .filter((at) => at <= this.#nowMs)
      .map((at, n) => ({
        id: String(first + n),
        createdAt: stampOf(at),
        automation_trigger_id: `t-${first + n}`,
      }));
    const nextSince = leads.at(-1)?.createdAt ?? stampOf(since);
    headers.push('link', `<https://leads.example.com/automation/new-leads?since=${nextSince}>; rel="next"`);
    return respond(200, leads, headers);
  }
}

function respond(status: number, body: unknown, list: readonly string[]): Response {
  const headers = new Headers();
  for (let i = 0; i < list.length; i += 2) headers.append(list[i] ?? '', list[i + 1] ?? '');
  return new Response(body === undefined ? 'Gateway Timeout' : JSON.stringify(body), { status, headers });
}
