import { LEADS_PATH, NEW_LEADS_PATH } from './contract.ts';
import { type Environment, PLATFORM } from './environment.ts';

/** What every request needs. */
export interface ConnectionOptions {
  /** The base address of the service, such as `https://leads.example.com/api`. */
  readonly baseUrl: string | URL;
  /** The access token, or what gives it: asked before every request, so that it may change. */
  readonly token: string | (() => string | Promise<string>);
  /** How long a request may take, with its answer. Default: 30 seconds. */
  readonly timeoutMs?: number | undefined;
  /** Network, time and chance, where the platform's own will not do. */
  readonly environment?: Partial<Environment> | undefined;
}

export interface Connection {
  /** Of polls. */
  readonly endpoint: string;
  readonly leadsEndpoint: string;
  readonly token: () => Promise<string>;
  readonly timeoutMs: number;
  readonly environment: Environment;
}

/** Longer waits than this end at once in most platforms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Checks what the caller gave, so that a mistake is reported at once and not by a failing poll. */
export function readConnection(options: ConnectionOptions): Connection {
  const { token } = options;
  if (typeof token !== 'function') checkToken(token);
  const base = readBaseUrl(options.baseUrl);
  return {
    endpoint: base + NEW_LEADS_PATH,
    leadsEndpoint: base + LEADS_PATH,
    token: async () => checkToken(typeof token === 'function' ? await token() : token),
    timeoutMs: readDuration('timeoutMs', options.timeoutMs, 30_000),
    environment: { ...PLATFORM, ...options.environment },
  };
}

/** The path may end in a slash, and may be that of the polling endpoint: people paste what they have. */
function readBaseUrl(baseUrl: unknown): string {
  const url = URL.canParse(String(baseUrl)) ? new URL(String(baseUrl)) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new TypeError(`baseUrl must be an address such as https://leads.example.com, not ${baseUrl}`);
  if (url.username || url.password) throw new TypeError('baseUrl must hold no password; give a token');
  const prefix = url.pathname.replace(/(?<!\/)\/+$/, '');
  return url.origin + (prefix.endsWith(NEW_LEADS_PATH) ? prefix.slice(0, -NEW_LEADS_PATH.length) : prefix);
}

function checkToken(token: unknown): string {
  const text = typeof token === 'string' ? token.trim() : '';
  if (token === undefined || token === null || token === '')
    throw new TypeError('token is missing: give the access token that the operator has issued');
  if (!/^[\x21-\x7e]+$/.test(text))
    throw new TypeError('token must be the access token: one word, without the "Bearer" in front');
  return text;
}

export function readDuration(name: string, given: number | undefined, usual: number): number {
  const ms = given ?? usual;
  if (!(ms >= 0 && ms <= LONGEST_TIMER_MS))
    throw new RangeError(`${name} must be a number of milliseconds between 0 and ${LONGEST_TIMER_MS}`);
  return ms;
}

export function readSince(since: string | Date | undefined): string | undefined {
  if (since === undefined) return undefined;
  if (since instanceof Date) return since.toISOString();
  if (typeof since !== 'string' || since === '')
    throw new TypeError('since must be a Date or an ISO 8601 time such as 2026-03-02T09:30:00.000Z');
  return since;
}
