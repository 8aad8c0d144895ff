import {
  MAX_INTAKE_BYTES,
  MAX_INTAKE_LEADS,
  type NewLead,
  type Problem,
  type WrittenLead,
} from './contract.ts';
import { errorOf, LeadtapError } from './errors.ts';
import { type Connection, type ConnectionOptions, readConnection } from './options.ts';
import { Pace } from './pace.ts';
import { type RateLimit, readRateLimits } from './rate-limits.ts';
import { messageOf, readProblem, sendRequest } from './request.ts';

export interface SendLeadsOptions extends ConnectionOptions {
  /**
   * Leads without an `id` are added once for a key, however often the same leads are sent with it. Default: a new key for
   * each call, so that its own retries add nothing twice. Give your own to repeat a call after a crash.
   */
  readonly idempotencyKey?: string | undefined;
  /** How often each request is sent at most. Default: 8, which takes about a minute. */
  readonly maxAttempts?: number | undefined;
  /** Ends the call: it throws the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** Called for every request that failed and will be retried, with the wait before the retry. */
  readonly onRetry?: ((error: LeadtapError, waitMs: number) => void) | undefined;
}

/**
 * A lead to send, of which all fields are optional. With the `id` of an existing lead it is an update: a field that is left
 * out stays as it is, and null resets it.
 */
export type LeadToSend = {
  readonly [Name in keyof NewLead]?:
    | NewLead[Name]
    | (Name extends 'appointmentDateTime' ? Date : never)
    | undefined;
};

interface Sending {
  readonly connection: Connection;
  readonly maxAttempts: number;
  readonly signal: AbortSignal;
  readonly onRetry: (error: LeadtapError, waitMs: number) => void;
  readonly pace: Pace;
}

/** The leads of one request, as JSON. */
interface Part {
  /** The index of its first lead in the array of the caller. */
  readonly offset: number;
  readonly texts: string[];
  bytes: number;
  hasLeadWithoutId: boolean;
}

const USUAL_ATTEMPTS = 8;
/** The service takes 255 characters; the parts of a call need a few of them. */
const LONGEST_KEY = 200;

/**
 * Sends a lead, or many, and resolves when they are stored. Transient errors are retried, and no retry adds a lead twice.
 * A request stores all of its leads or none. More than 1,000 leads, or 1 MiB, are several requests.
 *
 * ```js
 * const [{ id }] = await sendLeads({ firstName: 'Ada', email: 'ada@example.com' }, { baseUrl, token });
 * ```
 */
export async function sendLeads(
  leads: LeadToSend | readonly LeadToSend[],
  options: SendLeadsOptions,
): Promise<WrittenLead[]> {
  const connection = readConnection(options);
  const sending: Sending = {
    connection,
    maxAttempts: readAttempts(options.maxAttempts),
    signal: options.signal ?? new AbortController().signal,
    onRetry: options.onRetry ?? (() => undefined),
    pace: new Pace(0, connection.environment, 0),
  };
  const givenKey = readKey(options.idempotencyKey);
  let key = givenKey;
  const sent: WrittenLead[] = [];
  for (const [index, part] of split(Array.isArray(leads) ? leads : [leads]).entries()) {
    if (part.hasLeadWithoutId) key ??= connection.environment.uniqueId();
    const isKeyed = givenKey !== undefined || part.hasLeadWithoutId;
    const partKey = index === 0 ? key : `${key}#part-${index + 1}`;
    try {
      sent.push(...(await sendPart(sending, part, isKeyed ? partKey : undefined)));
    } catch (error) {
      throw error instanceof LeadtapError ? asSeenByCaller(error, part, sent) : error;
    }
  }
  return sent;
}

/** The same leads always give the same parts, so that a call can be repeated with its key. */
function split(leads: readonly LeadToSend[]): Part[] {
  const parts: Part[] = [];
  for (const [offset, lead] of leads.entries()) {
    if (typeof lead !== 'object' || lead === null || Array.isArray(lead))
      throw new TypeError(`lead ${offset} must be an object with the fields of a lead`);
    const text = JSON.stringify(lead);
    const bytes = new TextEncoder().encode(text).length + 1;
    let part = parts.at(-1);
    const isFull = part && (part.texts.length >= MAX_INTAKE_LEADS || part.bytes + bytes > MAX_INTAKE_BYTES);
    if (!part || isFull) {
      part = { offset, texts: [], bytes: 1, hasLeadWithoutId: false };
      parts.push(part);
    }
    part.texts.push(text);
    part.bytes += bytes;
    part.hasLeadWithoutId ||= lead.id === undefined || lead.id === null;
  }
  return parts;
}

async function sendPart(
  sending: Sending,
  part: Part,
  key: string | undefined,
): Promise<readonly WrittenLead[]> {
  const { connection, signal, pace } = sending;
  for (let attempt = 1; ; attempt += 1) {
    for (let waitMs = pace.waitMs(); waitMs > 0 && !signal.aborted; waitMs = pace.waitMs())
      await connection.environment.sleep(Math.ceil(waitMs), signal);
    signal.throwIfAborted();
    pace.sent();
    try {
      const { leads, rateLimits } = await sendOnce(sending, part, key);
      pace.answered({ rateLimits }, 'at-once');
      return leads;
    } catch (error) {
      if (!(error instanceof LeadtapError) || !isRetried(error) || attempt >= sending.maxAttempts)
        throw error;
      sending.onRetry(error, pace.failed(error));
    }
  }
}

/** A redirect will be the same next time: the base address is wrong. */
const isRetried = ({ isTransient, status = 0 }: LeadtapError): boolean =>
  isTransient && !(status >= 300 && status < 400);

const sendOnce = ({ connection, signal }: Sending, { texts }: Part, key: string | undefined) =>
  sendRequest(
    connection,
    {
      url: connection.leadsEndpoint,
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key !== undefined && { 'idempotency-key': key }) },
      body: `[${texts.join(',')}]`,
      // `fetch` makes a GET of a redirected POST, which would add no lead.
      redirect: 'manual',
      signal,
    },
    (response) => readReceipt(response, connection.leadsEndpoint, texts.length),
  );

async function readReceipt(
  response: Response,
  endpoint: string,
  count: number,
): Promise<{ readonly leads: readonly WrittenLead[]; readonly rateLimits: readonly RateLimit[] }> {
  const { status, headers } = response;
  const location = headers.get('location');
  if (location !== null && status >= 300 && status < 400)
    throw errorOf({
      code: `http-${status}`,
      message: `${endpoint} redirects to ${location}: use that as the base address, without /leads at its end.`,
      status,
    });
  if (!response.ok) throw await readProblem(response);
  const text = await response.text();
  const leads = sentLeadsOf(text);
  if (leads?.length === count) return { leads, rateLimits: readRateLimits(headers) };
  throw errorOf({
    code: 'not-leads',
    message: `${endpoint} answered ${status}, but did not confirm the leads: check the base address.`,
    status,
  });
}

/** Undefined where a text is not the confirmation of Leadtap: any web server can answer 200. */
function sentLeadsOf(text: string): readonly WrittenLead[] | undefined {
  try {
    const { leads } = JSON.parse(text) as { readonly leads?: unknown };
    return Array.isArray(leads) && leads.every(isWrittenLead) ? leads : undefined;
  } catch {
    return undefined;
  }
}

const isWrittenLead = (lead: Partial<WrittenLead> | null): lead is WrittenLead =>
  typeof lead?.id === 'string' && typeof lead.createdAt === 'string';

/** With indexes in the array of the caller, and with what earlier requests of the call have stored. */
function asSeenByCaller(error: LeadtapError, { offset }: Part, sent: readonly WrittenLead[]): LeadtapError {
  const { cause } = error;
  const problem = error.problem && withOffset(error.problem, offset);
  const message = problem ? messageOf(problem, error.status) : error.message;
  return errorOf({ ...error, message, cause, problem, sent });
}

const withOffset = (problem: Problem, offset: number): Problem => ({
  ...problem,
  ...(problem.errors && {
    errors: problem.errors.map((error) =>
      'index' in error && typeof error.index === 'number' ? { ...error, index: error.index + offset } : error,
    ),
  }),
});

function readAttempts(given = USUAL_ATTEMPTS): number {
  if (given >= 1) return given;
  throw new RangeError('maxAttempts must be a number of at least 1; 1 means no retry');
}

function readKey(key: string | undefined): string | undefined {
  if (
    key === undefined ||
    (/^[\x21-\x7e]+$/.test(key) && key.length <= LONGEST_KEY && !/#part-\d+$/.test(key))
  )
    return key;
  throw new TypeError(
    `idempotencyKey must have 1 to ${LONGEST_KEY} printable ASCII characters without spaces, and must not end like #part-2`,
  );
}
