import { isIPv6 } from 'node:net';
import type { Verdict } from '../limits/limiter.ts';
import type { HeaderList } from './headers.ts';
import { ProblemError } from './problems.ts';

/** Adds to `RateLimit-Policy` and `RateLimit`, in the syntax of the IETF draft. */
export function addRateLimitHeaders(headers: HeaderList, { windows }: Verdict): void {
  const at = headers.indexOf('ratelimit-policy');
  let policies = at === -1 ? '' : `${headers[at + 1]}, `;
  let state = at === -1 ? '' : `${headers[at + 3]}, `;
  let separator = '';
  for (const { policy, remaining, resetS } of windows) {
    policies += `${separator}"${policy.name}";q=${policy.quota};w=${policy.windowS}`;
    state += `${separator}"${policy.name}";r=${remaining};t=${resetS}`;
    separator = ', ';
  }
  if (at === -1) headers.push('ratelimit-policy', policies, 'ratelimit', state);
  else {
    headers[at + 1] = policies;
    headers[at + 3] = state;
  }
}

export const rateLimitExceeded = ({ violated, retryAfterS }: Verdict, detail?: string): ProblemError =>
  new ProblemError('rate-limit-exceeded', {
    ...(detail !== undefined && { detail }),
    violatedPolicies: violated,
    // Whole seconds: some platforms parse nothing else.
    headers: { 'retry-after': String(Math.max(1, retryAfterS)) },
  });

/** Some proxies send the port with the address. One client has many ports. */
const WITH_PORT = /^(?:(\d+\.\d+\.\d+\.\d+)|\[([^\]]*)\])(?::\d+)?$/;

/**
 * The key under which an address is limited. For IPv6 it is the /64 network: one client has all 2^64 addresses of it. An
 * IPv4-mapped IPv6 address is the IPv4 address.
 */
export function addressKey(text: string): string {
  const [, v4, v6] = WITH_PORT.exec(text) ?? [];
  const [address = ''] = (v4 ?? v6 ?? text).split('%');
  if (!isIPv6(address)) return address;
  const groups = ipv6Groups(address);
  const [high = 0, low = 0] = groups.slice(6);
  if (groups.slice(0, 6).join() === '0,0,0,0,0,65535')
    return [high >> 8, high & 255, low >> 8, low & 255].join('.');
  const network = groups.slice(0, 4).map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
}

/** The eight numbers of an IPv6 address in any notation: the URL parser writes all of them in hexadecimal groups. */
function ipv6Groups(address: string): number[] {
  const { hostname } = new URL(`http://[${address}]`);
  const [head = [], tail = []] = hostname.split('::').map((half) => half.match(/[0-9a-f]+/g) ?? []);
  const zeros = Array<string>(8 - head.length - tail.length).fill('0');
  return [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16));
}
