import { isIP } from 'node:net';
import type { TrustProxy } from '../http/forwarded.ts';
import type { Address } from '../ops/listen.ts';
import { type Parsed, type Parser, quoted, right, wrong } from './parsed.ts';

const HOST_NAME = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i;
const ONLY_DIGITS_AND_DOTS = /^[\d.]+$/;

/** A host to listen on: a name or an address, IPv6 with or without its brackets. */
export const parseHost: Parser<string> = (text) => {
  const inBrackets = /^\[(.*)\]$/.exec(text)?.[1];
  if (inBrackets !== undefined && isIP(inBrackets) === 6) return right(inBrackets);
  if (isIP(text) !== 0) return right(text);
  if (HOST_NAME.test(text) && !ONLY_DIGITS_AND_DOTS.test(text)) return right(text);
  return wrong(
    `${quoted(text)} is not a host name or an IP address`,
    'Write the host alone, such as 127.0.0.1, 0.0.0.0, :: or localhost; the port stands in LEADTAP_PORT.',
  );
};

export const parsePort: Parser<number> = (text) => {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return right(Number(text));
  if (/^tcp:/.test(text)) return wrong(KUBERNETES_SET_IT, KUBERNETES_MEND);
  return wrong(
    `${quoted(text)} is not a port`,
    'Write a whole number from 0 to 65535; 0 takes any free port.',
  );
};

/** Kubernetes describes each Service to each pod in variables that begin with the name of the Service. */
export const KUBERNETES_SET_IT = 'Kubernetes set it, for a Service whose name begins with leadtap';
export const KUBERNETES_MEND =
  'Set `enableServiceLinks: false` in the pod, or give the Service a name that begins otherwise.';

const METRICS_WRITE = 'Write host:port, such as 127.0.0.1:9464 or [::1]:9464, or off.';

export const parseMetricsAddress: Parser<Address | 'off'> = (text, cwd) => {
  if (text === 'off') return right('off');
  const [, hostText, portText] = /^(\[[^\]]*\]|[^:]*):([^:]*)$/.exec(text) ?? [];
  if (!hostText || !portText) return wrong(`${quoted(text)} is not host:port`, METRICS_WRITE);
  const host = parseHost(hostText, cwd);
  const port = parsePort(portText, cwd);
  if (host.kind === 'wrong') return wrong(host.wrong, METRICS_WRITE);
  if (port.kind === 'wrong') return wrong(port.wrong, METRICS_WRITE);
  return right({ host: host.value, port: port.value });
};

const SEGMENT = /^[A-Za-z0-9._~-]+$/;

/** `/api/leads`; a lone slash is the same as no base path. */
export const parseBasePath: Parser<string> = (text) => {
  const path = text.replace(/\/+$/, '');
  const segments = path.split('/').slice(1);
  const plain = segments.every((segment) => SEGMENT.test(segment) && segment !== '.' && segment !== '..');
  if (text.startsWith('/') && plain) return right(path);
  return wrong(
    `${quoted(text)} is not a plain path`,
    'Write a path that begins with a slash, such as /api, of letters, digits, dots, underscores, tildes and hyphens.',
  );
};

const PUBLIC_URL_WRITE = 'Write the address as clients see it, such as https://leads.example.com/api.';

/** Not shown in messages: it may carry a password that does not belong there. */
export const parsePublicUrl: Parser<string> = (text) => {
  const url = parseHttpUrl(text);
  if (url === undefined) return wrong('it is not an http:// or https:// address', PUBLIC_URL_WRITE);
  if (url.username || url.password) return wrong('it carries a user name or a password', PUBLIC_URL_WRITE);
  if (/[?#]/.test(text)) return wrong('it carries a query or a fragment', PUBLIC_URL_WRITE);
  return right(`${url.origin}${url.pathname.replace(/\/+$/, '')}`);
};

export function parseHttpUrl(text: string): URL | undefined {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return undefined;
  return new URL(text);
}

const RANGE_NAMES: readonly string[] = ['loopback', 'linklocal', 'uniquelocal'];
const TRUST_WRITE =
  'Write false, the number of proxies in front, or the addresses of the proxies, such as 10.0.0.0/8,loopback.';

/** `true` is one hop: trusting every hop would let any caller choose its own address. */
export const parseTrustProxy: Parser<TrustProxy> = (text) => {
  if (text === 'false' || /^0+$/.test(text)) return right(false);
  if (text === 'true') return right(1);
  if (/^\d+$/.test(text)) return parseHops(text);
  const ranges = text.split(',').map((range) => range.trim());
  const bad = ranges.find((range) => !isRange(range));
  return bad === undefined ? right(ranges) : wrong(rangeProblem(bad), TRUST_WRITE);
};

function parseHops(text: string): Parsed<number> {
  if (Number(text) <= 32) return right(Number(text));
  return wrong(`${quoted(text)} proxies in front of each other are not plausible`, TRUST_WRITE);
}

function isRange(text: string): boolean {
  if (RANGE_NAMES.includes(text)) return true;
  const [address = '', prefix, ...rest] = text.split('/');
  const version = text.includes('%') ? 0 : isIP(address);
  if (version === 0 || rest.length > 0) return false;
  if (prefix === undefined) return true;
  const bits = version === 4 ? 32 : 128;
  return /^\d{1,3}$/.test(prefix) && Number(prefix) >= 1 && Number(prefix) <= bits;
}

const rangeProblem = (range: string): string =>
  /\/0+$/.test(range)
    ? `${quoted(range)} trusts everyone, so that any caller could choose its address`
    : `${quoted(range)} is not an address, a range or one of ${RANGE_NAMES.join(', ')}`;
