import {
  PROBLEM_CODES,
  PROBLEM_MEDIA_TYPE,
  PROBLEMS,
  type ProblemCode,
  problemType,
} from '@leadtap/contract';

/** A response of the service. */
export interface ReceivedResponse {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined for a HEAD request. */
  readonly text: string | undefined;
}

/** What a client may get while the network or the database fails. 408: its request arrived too slowly. */
export const isFaultStatus = (status: number): boolean => status === 408 || status === 503;

/** Problems that clients repeat after `Retry-After`. */
const RETRIED = [429, 503];

/**
 * A sentence if the catalogue of problems does not declare the response. An internal error is in the catalogue, but no fault causes
 * it.
 */
export function findUndeclared({ status, headers, text }: ReceivedResponse): string | undefined {
  if (status < 400) return undefined;
  const codes = PROBLEM_CODES.filter((code) => PROBLEMS[code].status === status && code !== 'internal-error');
  const isDeclared =
    (text === undefined ? codes.length > 0 : codes.some((code) => isProblem(text, code))) &&
    headers.get('content-type') === PROBLEM_MEDIA_TYPE &&
    (!RETRIED.includes(status) || /^[1-9]\d*$/.test(headers.get('retry-after') ?? ''));
  return isDeclared ? undefined : `an undeclared response: ${status} ${text?.slice(0, 300)}`;
}

function isProblem(text: string, expected: ProblemCode): boolean {
  try {
    const { code, type } = JSON.parse(text);
    return code === expected && type === problemType(expected);
  } catch {
    return false;
  }
}

/** Of docs/faults.md: the database is unreachable, or slower than the timeouts, as on a busy machine. */
const DECLARED_CAUSES = [
  'the database cannot be reached',
  'the database does not answer in time',
  'the connection to the database is broken',
  'the database is stopping or starting',
  'the database ended a transaction that took too long',
  'the database ended a statement that took too long',
  'the database has no connection left',
  'another program holds a lock of the database',
  'other transactions are in the way',
  'too many requests wait for a connection to the database',
  'too many writes of leads wait for the lock of their company',
];

export const isDeclaredCause = (text: string): boolean =>
  DECLARED_CAUSES.some((cause) => text.includes(cause));

/** Undefined if there was no whole response before the signal. */
export async function receive(
  url: string,
  init: RequestInit,
): Promise<(ReceivedResponse & { readonly text: string }) | undefined> {
  try {
    const response = await fetch(url, init);
    return { status: response.status, headers: response.headers, text: await response.text() };
  } catch {
    return undefined;
  }
}
