import type { Problem } from '@leadtap/contract';
import { type AfterResponseMiddleware, errors, type HttpResponse } from 'zapier-platform-core';
import { HOOKS_PATH } from './base-address.ts';

/** Long enough for what stands before the service to recover when it does not say for how long. */
const DEFAULT_DELAY_S = 60;

/** Empty when the body is not a problem of Leadtap, such as the error page of a proxy. */
function problemOf({ data }: HttpResponse<Partial<Problem> | null | undefined>): Partial<Problem> {
  return typeof data?.code === 'string' ? data : {};
}

/** Zapier takes whole seconds only. */
function delayS(response: HttpResponse): number {
  const retryAfter = response.headers.get('retry-after') ?? '';
  return /^\d+$/.test(retryAfter) ? Number(retryAfter) : DEFAULT_DELAY_S;
}

/** Zapier marks the connection as expired, notifies its owner, and continues to poll once there is a new token. */
const tokenRefused = ({
  detail = 'The access token was not accepted. Ask the operator of Leadtap for a new one.',
}: Partial<Problem>) =>
  new errors.ExpiredAuthError(`${detail} Then reconnect Leadtap in Zapier with the new token.`);

/** Zapier asks again after the delay, and counts it as no error of the Zap. */
const waitAWhile = (response: HttpResponse, isEvent: boolean, what: string) =>
  new errors.ThrottledError(
    isEvent
      ? `${what} The leads come with the next event.`
      : `${what} Zapier tries again by itself. If no poll succeeds for half an hour, leads can be missed.`,
    delayS(response),
  );

function notFound(response: HttpResponse): Error {
  const { code, detail } = problemOf(response);
  if (code === 'user-not-found')
    return new errors.Error(`${detail} Ask the operator of Leadtap for another token.`, code, 404);
  if (code === 'no-such-resource' && response.request.url?.endsWith(HOOKS_PATH))
    return new errors.Error(
      'This Leadtap sends no events: its operator has switched them off, or it is an older version. Choose the trigger New Lead instead.',
      'no-events',
      404,
    );
  return noLeadtap(response.status);
}

const CHECK_ADDRESS =
  'Check the base address of the connection: it is everything before /automation/new-leads.';

const noLeadtap = (status: number): Error =>
  new errors.Error(`There is no Leadtap at this address. ${CHECK_ADDRESS}`, 'no-leadtap', status);

/** Maintenance and sign-in pages and wrong addresses answer 200 too. */
export const unexpectedAnswer = (installation: string, status: number, expected: string): Error =>
  new errors.Error(
    `${installation} answered ${status}, but not with ${expected} of Leadtap. ${CHECK_ADDRESS}`,
    'no-leadtap',
    status,
  );

function failed(response: HttpResponse): Error {
  const { status } = response;
  const { code = 'unexpected-answer', detail, requestId } = problemOf(response);
  const reason = detail ?? `Leadtap, or what stands before it, answered with status ${status}.`;
  const id = status >= 500 && requestId ? ` The request id is ${requestId}.` : '';
  return new errors.Error(reason + id, code, status);
}

function refusal(response: HttpResponse, isEvent: boolean): Error {
  switch (response.status) {
    case 401:
      return tokenRefused(problemOf(response));
    case 404:
      return notFound(response);
    case 429:
      return waitAWhile(response, isEvent, 'The rate limit was reached.');
    case 503:
      return waitAWhile(response, isEvent, 'Leadtap cannot answer right now.');
    default:
      return failed(response);
  }
}

/** Says in words what is wrong and what to do, instead of the bytes of the answer. */
export const explainRefusals: AfterResponseMiddleware = (response, _z, { rawRequest }) => {
  // Zapier gives the request that it received to runs of events only.
  if (response.status >= 400) throw refusal(response, rawRequest !== undefined);
  return response;
};
