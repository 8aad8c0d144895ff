/** Records requests that should send leads and are refused before their token is read: to another address, with another method, or malformed. */
import type { IncomingMessage } from 'node:http';
import { LEADS_PATH, type ProblemCode } from '@leadtap/contract';
import type { VerifiedToken } from '../accounts/records.ts';
import type { VerifyToken } from '../accounts/tokens.ts';
import type { ConnectionRecorder } from '../connections/recorder.ts';
import { hasTokenScope } from '../http/authorize.ts';
import type { Exchange } from '../http/exchange.ts';
import { isConsoleRequest, searchOf } from '../http/headers.ts';
import { findVerified } from '../http/identify.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { sendRunOf } from './send-run.ts';

export interface UnidentifiedOptions {
  readonly verifyToken: VerifyToken;
  /** The path of `{base_url}`. Default: none. */
  readonly basePath?: string | undefined;
  /** With `LEADTAP_INTAKE=off`. */
  readonly isIntakeOff?: boolean | undefined;
  readonly connections?: Pick<ConnectionRecorder, 'recordSend' | 'recordUnknown'> | undefined;
  readonly clock?: Clock | undefined;
}

const CODES: readonly ProblemCode[] = [
  'no-such-resource',
  'method-not-allowed',
  'malformed-request',
  'token-missing',
  'token-invalid',
];
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
/** A client chooses how many it sends. */
const MAX_TOKENS = 2;

/** The tokens in the address, of senders that cannot set a header. */
export const urlTokensOf = ({ url }: IncomingMessage): string[] =>
  new URLSearchParams(searchOf(url)).getAll('access_token');

/** Also after `Token`, in quotes, or after `Bearer` in the address. */
const tokensIn = (text: string): string[] => text.split(/[^\w.-]+/).filter((part) => JWT.test(part));

/**
 * After the answer, which does not depend on the token: no failure is counted for the address, and no more is done than for a token
 * that is refused with 401.
 */
export function createUnidentifiedRecorder({
  verifyToken,
  basePath = '',
  isIntakeOff = false,
  connections,
  clock = systemClock,
}: UnidentifiedOptions): ((ended: Exchange) => Promise<void>) | undefined {
  if (!connections) return undefined;
  return async (ended) => {
    const { request, problem } = ended;
    if (!problem || !CODES.includes(problem.code) || isConsoleRequest(request)) return;
    const { authorization: headers = [] } = request.headersDistinct;
    const isInUrl = headers.length === 0;
    const texts = isInUrl ? urlTokensOf(request) : headers;
    const tokens = texts.flatMap(tokensIn);
    const isToLeads = isForLeads(request, basePath);
    const run = sendRunOf(ended, clock(), NO_LEADS);
    for (const text of tokens.slice(0, MAX_TOKENS)) {
      const token = await findVerified(verifyToken, text);
      if (!token) continue;
      // In the address, a token that may also read leads is invalid: that is why its leads are refused, or it is of an automation.
      if (isInUrl && hasTokenScope(token, 'leads:read') && problem.code !== 'token-invalid') continue;
      const code = isIntakeOff && isToLeads ? 'intake-off' : problem.code;
      if (mayHaveLeads(request, token, basePath)) connections.recordSend(token, { ...run, code });
      return;
    }
    if (isToLeads)
      connections.recordUnknown({ ...run, code: texts.length > 0 ? 'token-invalid' : 'token-missing' });
  };
}

const NO_LEADS = { added: 0, updated: 0 };

const isForLeads = ({ method, url = '' }: IncomingMessage, basePath: string): boolean =>
  method === 'POST' && url.split('?', 1)[0] === `${basePath}${LEADS_PATH}`;

/** Not a browser that asks what is allowed, a person who opens the address, or an automation that polls another address. */
function mayHaveLeads({ method = '', url = '' }: IncomingMessage, token: VerifiedToken, basePath: string) {
  const mayWrite = hasTokenScope(token, 'leads:write');
  const [path = ''] = url.split('?', 1);
  if (path.replace(/\/$/, '') !== `${basePath}${LEADS_PATH}`)
    return ['POST', 'PUT', 'PATCH'].includes(method) && mayWrite && !hasTokenScope(token, 'leads:read');
  if (method === 'GET')
    return mayWrite && [...new URLSearchParams(searchOf(url)).keys()].some((name) => name !== 'access_token');
  return method !== 'HEAD' && method !== 'OPTIONS';
}
