/** Parsers of single values: hosts, ports, paths, secrets, choices. */
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { findTimeZone, toDurationMs } from '../lib/clock.ts';
import { MIN_SECRET_BYTES, secretProblem } from '../lib/signing-secret.ts';

export interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

/** None, this many in front, or those with these addresses. */
export type TrustedProxies = false | number | readonly string[];

/** The message is the problem. Neither it nor the fix may contain a secret. */
export class InvalidValueError extends Error {
  override readonly name = 'InvalidValueError';
  /** What to write instead, as a sentence. */
  readonly fix: string;

  constructor(problem: string, fix: string) {
    super(problem);
    this.fix = fix;
  }
}

export function check(isValid: boolean, problem: string, fix: string): void {
  if (!isValid) throw new InvalidValueError(problem, fix);
}

/** Throws `InvalidValueError`. The text is trimmed and never empty. Relative paths start at `cwd`. */
export type Parser<T> = (text: string, cwd: string) => T;

/** Shows a value in a message. Never use it for a variable that may contain a secret or a password. */
const quote = (text: string): string => JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text);

export const parseText: Parser<string> = (text) => text;

export const parsePath: Parser<string> = (text, cwd) => resolve(cwd, text);

const parseChoice =
  <T extends string>(choices: readonly T[]): Parser<T> =>
  (text) => {
    const choice = choices.find((known) => known === text);
    if (choice !== undefined) return choice;
    throw new InvalidValueError(`${quote(text)} is not a valid value`, `Write one of ${choices.join(', ')}.`);
  };

export const parseBoolean: Parser<boolean> = (text, cwd) =>
  parseChoice(['true', 'false'])(text, cwd) === 'true';

export const parseOnOff: Parser<boolean> = (text, cwd) => parseChoice(['on', 'off'])(text, cwd) === 'on';

export const parseIntake: Parser<'off' | 'on' | 'urls'> = parseChoice(['off', 'on', 'urls']);

/** In milliseconds. */
export const parseDuration: Parser<number> = (text) => {
  const durationMs = toDurationMs(text);
  if (durationMs !== undefined) return durationMs;
  throw new InvalidValueError(`${quote(text)} is not a duration`, 'Write 90s, 15m, 2h or 1d.');
};

export const parseTimeZone: Parser<string> = (text) => {
  const timeZone = findTimeZone(text);
  if (timeZone !== undefined) return timeZone;
  throw new InvalidValueError(
    `${quote(text)} is not a time zone`,
    'Write a name of the IANA database, such as Europe/Paris.',
  );
};

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export const parseLogLevel = parseChoice(LOG_LEVELS);

const parseCount =
  (min: number, max: number, unit: string): Parser<number> =>
  (text) => {
    const isCount = /^\d{1,7}$/.test(text) && Number(text) >= min && Number(text) <= max;
    check(isCount, `it is not a number of ${unit}`, `Write a whole number from ${min} to ${max}.`);
    return Number(text);
  };

/** At least 2: while one connection waits for the lock of a busy company, the other one serves the other companies. */
export const parseConnections = parseCount(2, 1000, 'connections');

export const parseMaxWaiting = parseCount(0, 1_000_000, 'requests');

const HOST_NAME = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i;
const ONLY_DIGITS_AND_DOTS = /^[\d.]+$/;

/** A host to listen on: a name or an address. IPv6 may have brackets. */
export const parseHost: Parser<string> = (text) => {
  const inBrackets = /^\[(.*)\]$/.exec(text)?.[1];
  if (inBrackets !== undefined && isIP(inBrackets) === 6) return inBrackets;
  if (isIP(text) !== 0 || (HOST_NAME.test(text) && !ONLY_DIGITS_AND_DOTS.test(text))) return text;
  throw new InvalidValueError(
    `${quote(text)} is not a host name or an IP address`,
    'Write only the host, such as 127.0.0.1, 0.0.0.0, :: or localhost. The port belongs in LEADTAP_PORT.',
  );
};

/** Kubernetes sets variables in each pod for each Service. Their names start with the name of the Service. */
export const kubernetesVariable = (): InvalidValueError =>
  new InvalidValueError(
    'Kubernetes set it for a Service whose name starts with leadtap',
    'Set `enableServiceLinks: false` in the pod, or rename the Service.',
  );

export const parsePort: Parser<number> = (text) => {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  if (/^tcp:/.test(text)) throw kubernetesVariable();
  throw new InvalidValueError(
    `${quote(text)} is not a port`,
    'Write a whole number from 0 to 65535. 0 means any free port.',
  );
};

export const parseMetricsAddress: Parser<HostAndPort | 'off'> = (text, cwd) => {
  if (text === 'off') return 'off';
  const [, host, port] = /^(\[[^\]]*\]|[^:]*):([^:]*)$/.exec(text) ?? [];
  try {
    if (host && port) return { host: parseHost(host, cwd), port: parsePort(port, cwd) };
  } catch (error) {
    if (!(error instanceof InvalidValueError)) throw error;
  }
  throw new InvalidValueError(
    `${quote(text)} is not host:port`,
    'Write host:port, such as 127.0.0.1:9464 or [::1]:9464, or write off.',
  );
};

const SEGMENT = /^[A-Za-z0-9._~-]+$/;

/** `/api/leads`. A single slash means no base path. */
export const parseBasePath: Parser<string> = (text) => {
  const path = text.replace(/(?<!\/)\/+$/, '');
  const segments = path.split('/').slice(1);
  const isPlain = segments.every((segment) => SEGMENT.test(segment) && segment !== '.' && segment !== '..');
  check(
    text.startsWith('/') && isPlain,
    `${quote(text)} is not a plain path`,
    'Write a path that starts with a slash, such as /api. Use only letters, digits and the characters . _ ~ -.',
  );
  return path;
};

const RANGE_NAMES: readonly string[] = ['loopback', 'linklocal', 'uniquelocal'];
const MAX_PROXIES = 32;

/** `true` means one proxy: if every hop were trusted, any client could choose its own address. */
export const parseTrustProxy: Parser<TrustedProxies> = (text) => {
  if (text === 'false' || /^0+$/.test(text)) return false;
  if (text === 'true') return 1;
  const isCount = /^\d+$/.test(text);
  if (isCount && Number(text) <= MAX_PROXIES) return Number(text);
  const ranges = text.split(',').map((range) => range.trim());
  const invalid = isCount ? text : ranges.find((range) => !isRange(range));
  if (invalid === undefined) return ranges;
  throw new InvalidValueError(
    explainRange(invalid),
    'Write false, the number of proxies, or the addresses of the proxies, such as 10.0.0.0/8,loopback.',
  );
};

function isRange(text: string): boolean {
  if (RANGE_NAMES.includes(text)) return true;
  const [address = '', prefix, ...rest] = text.split('/');
  const version = text.includes('%') ? 0 : isIP(address);
  if (version === 0 || rest.length > 0) return false;
  if (prefix === undefined) return true;
  const maxBits = version === 4 ? 32 : 128;
  return /^\d{1,3}$/.test(prefix) && Number(prefix) >= 1 && Number(prefix) <= maxBits;
}

function explainRange(range: string): string {
  if (/^\d+$/.test(range)) return `${quote(range)} is more than the ${MAX_PROXIES} proxies that are allowed`;
  if (/\/0+$/.test(range))
    return `${quote(range)} trusts every client, so any client could choose its own address`;
  return `${quote(range)} is not an address, a range or one of ${RANGE_NAMES.join(', ')}`;
}

/** The first secret signs and all of them verify, so that keys can be rotated. No message shows a secret. */
export const parseSecrets: Parser<readonly string[]> = (text) => {
  const secrets = text.split(/[\s,]+/).filter((secret) => secret !== '');
  const problems = secrets.map(secretProblem);
  const first = problems.findIndex((problem) => problem !== undefined);
  if (secrets.length > 0 && first === -1) return secrets;
  throw new InvalidValueError(
    secrets.length === 0
      ? 'it contains no secret'
      : `secret ${first + 1} of ${secrets.length} ${problems[first]}`,
    `Write base64 of at least ${MIN_SECRET_BYTES} random bytes, such as \`openssl rand -base64 32\` prints. Separate several secrets by spaces or commas.`,
  );
};
