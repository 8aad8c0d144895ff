import type { LeadError, ParameterError, Problem } from './contract.ts';
import type { FetchOptions } from './environment.ts';
import { errorOf, LeadtapError } from './errors.ts';
import type { Connection } from './options.ts';
import { readRateLimits } from './rate-limits.ts';
import { readRetryAfter } from './retry-after.ts';

export interface HttpRequest extends Omit<FetchOptions, 'cache'> {
  readonly url: string;
  /** How long the service may hold the request before it answers. */
  readonly heldMs?: number;
}

/** Sends a request and reads the whole response, within `timeoutMs` and the time that it may be held. Every failure is a `LeadtapError`, except an abort. */
export async function sendRequest<T>(
  connection: Connection,
  { url, headers, signal, heldMs = 0, ...init }: HttpRequest,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  const authorization = `Bearer ${await connection.token()}`;
  const limitMs = connection.timeoutMs + heldMs;
  const limit = connection.environment.timeLimit(limitMs);
  const aborted = whenEither(limit, signal);
  try {
    const response = await connection.environment.fetch(url, {
      ...init,
      headers: { accept: 'application/json', authorization, ...headers },
      // Leads are personal data, and nothing for the cache of a browser.
      cache: 'no-store',
      signal: aborted.signal,
    });
    return await read(response);
  } catch (error) {
    if (error instanceof LeadtapError) throw error;
    signal.throwIfAborted();
    throw noAnswer(url, limitMs, limit.aborted, error);
  } finally {
    aborted.forget();
  }
}

/** `AbortSignal.any` would do, but leaks in several versions of Node.js when one signal lives for years. */
function whenEither(...signals: readonly AbortSignal[]) {
  const either = new AbortController();
  const abort = () => either.abort();
  for (const signal of signals) {
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
  }
  return {
    signal: either.signal,
    forget: () => {
      for (const signal of signals) signal.removeEventListener('abort', abort);
    },
  };
}

/** The error that a response other than a success stands for. */
export async function readProblem(response: Response): Promise<LeadtapError> {
  const { status, headers } = response;
  const problem = await response.json().then(
    (body: unknown) => (isProblem(body) ? body : undefined),
    () => undefined,
  );
  const code = problem?.code ?? (`http-${status}` as const);
  return errorOf({
    code,
    message: problem
      ? messageOf(problem, status)
      : `${response.url} answered with ${status}. (${status} ${code})`,
    status,
    problem,
    retryAfterMs: readRetryAfter(headers),
    rateLimits: readRateLimits(headers),
  });
}

/** The others are in `problem.errors`. */
const MAX_ERRORS_IN_MESSAGE = 5;

/** What is wrong and where, because many programs log the message alone. */
export function messageOf(
  { detail, code, requestId, errors = [] }: Problem,
  status: number | undefined,
): string {
  const shown = errors.slice(0, MAX_ERRORS_IN_MESSAGE).map((error) => {
    const { parameter, index, field, detail: rule }: Partial<ParameterError & LeadError> = error;
    const where = [parameter, index === undefined ? undefined : `lead ${index}`, field].filter(Boolean);
    return `${where.join(', ')}${where.length > 0 ? ': ' : ''}${rule}`;
  });
  const more = errors.length - shown.length;
  return [
    detail,
    ...(shown.length > 0 ? [`${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}.`] : []),
    `(${status} ${code}, request ${requestId})`,
  ].join(' ');
}

const isProblem = (body: unknown): body is Problem =>
  typeof body === 'object' && body !== null && 'code' in body && 'detail' in body;

function noAnswer(url: string, timeoutMs: number, isTooLate: boolean, cause: unknown): LeadtapError {
  const endpoint = withoutQuery(url);
  if (isTooLate)
    return errorOf({
      code: 'timed-out',
      message: `${endpoint} did not answer within ${timeoutMs} ms.`,
      cause,
    });
  const { message, cause: deeper } = cause instanceof Error ? cause : new Error(String(cause));
  const why = deeper instanceof Error ? `${message}: ${deeper.message}` : message;
  return errorOf({ code: 'connection-failed', message: `No whole answer from ${endpoint}: ${why}.`, cause });
}

/** The address as an error names it. */
export const withoutQuery = (url: string): string => url.replace(/\?.*/, '');
