/** What a caller may do: rate limit (429), user (404), plan (403), scope of the token (403). */
import { isIPv6 } from 'node:net';
import { PROBLEMS } from '@leadtap/contract';
import type { TokenScope, VerifiedToken } from '../accounts/records.ts';
import { DEFAULT_TOKEN_SCOPES } from '../accounts/token-scopes.ts';
import { mayPoll, type PollingUser } from '../leads/access.ts';
import { andThen } from '../lib/event-loop.ts';
import type { Limiter, Policy, Verdict } from '../limits/limiter.ts';
import { ClientDisconnectedError } from '../sql/errors.ts';
import { isDisconnected } from './connections.ts';
import type { Exchange } from './exchange.ts';
import type { HeaderList } from './headers.ts';
import { ProblemError } from './problems.ts';

/** What an endpoint lets its callers do. */
export interface AccessRule {
  /** With `leads:read` the user also needs the plan for polls. */
  readonly scope: TokenScope;
  readonly limiter: Limiter;
  /** What to do about a 429, if it is not the usual. */
  readonly rateLimitDetail?: string;
}

/** All checks of a request whose token is valid; without the rate limit if the request was counted before. Returns the user. */
export const authorize = (
  exchange: Exchange,
  token: VerifiedToken,
  user: PollingUser | undefined,
  rule: AccessRule,
  skipsRateLimit: boolean,
): PollingUser | Promise<PollingUser> =>
  andThen(skipsRateLimit ? undefined : countRequest(exchange, token, rule), () => {
    // The ids are compared again: a database that ignores case, or cuts a text at NUL, finds other users.
    if (user?.id !== token.userId) throw new ProblemError('user-not-found');
    if (rule.scope === 'leads:read' && !mayPoll(user)) throw new ProblemError('professional-plan-required');
    if (!hasTokenScope(token, rule.scope)) throw insufficientScope(rule.scope);
    return user;
  });

/** Counted even if the client has disconnected: disconnecting must not be a way around the limit. */
const countRequest = (
  { request, response, headers }: Exchange,
  { userId }: VerifiedToken,
  { limiter, rateLimitDetail }: AccessRule,
) =>
  andThen(limiter.consume(userId), (verdict) => {
    addRateLimitHeaders(headers, verdict);
    if (verdict.violated.length > 0) throw rateLimitExceeded(verdict, rateLimitDetail);
    if (isDisconnected(request, response)) throw new ClientDisconnectedError('the client has disconnected');
  });

export const hasTokenScope = ({ scopes = DEFAULT_TOKEN_SCOPES }: VerifiedToken, scope: TokenScope): boolean =>
  scopes.includes(scope);

const INSUFFICIENT_SCOPE: Readonly<Record<TokenScope, string>> = {
  'leads:read': 'This token may not read leads. Use a token with the scope `leads:read`.',
  'leads:write': 'This token may not send leads. Use a token with the scope `leads:write`.',
};

/** Of `WWW-Authenticate`. */
export const SCHEME_AND_REALM = 'Bearer realm="leadtap"';

/** RFC 6750: a token that is valid, but not for this request. */
function insufficientScope(scope: TokenScope): ProblemError {
  const code = 'insufficient-scope';
  const error = `error="insufficient_scope", error_description="${PROBLEMS[code].title}", scope="${scope}"`;
  const headers = { 'www-authenticate': `${SCHEME_AND_REALM}, ${error}` };
  return new ProblemError(code, { headers, detail: INSUFFICIENT_SCOPE[scope] });
}

const policyTexts = new WeakMap<Policy, string>();

function policyText(policy: Policy): string {
  const known = policyTexts.get(policy);
  if (known !== undefined) return known;
  const text = `"${policy.name}";q=${policy.quota};w=${policy.windowS}`;
  policyTexts.set(policy, text);
  return text;
}

/** Adds to `RateLimit-Policy` and `RateLimit`, in the syntax of the IETF draft. */
export function addRateLimitHeaders(headers: HeaderList, { windows }: Verdict): void {
  const at = headers.indexOf('ratelimit-policy');
  let policies = at === -1 ? '' : `${headers[at + 1]}, `;
  let state = at === -1 ? '' : `${headers[at + 3]}, `;
  let separator = '';
  for (const { policy, remaining, resetS } of windows) {
    policies += separator + policyText(policy);
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
