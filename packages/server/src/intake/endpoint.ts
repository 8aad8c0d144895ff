/** `POST {base_url}/leads`, which accepts leads. */
import type { IncomingMessage } from 'node:http';
import { LEADS_PATH, MAX_INTAKE_LEADS } from '@leadtap/contract';
import type { VerifiedToken } from '../accounts/records.ts';
import type { ConnectionRecorder } from '../connections/recorder.ts';
import { addRateLimitHeaders, rateLimitExceeded } from '../http/authorize.ts';
import { declaredBytes, readBody, requireBody } from '../http/body.ts';
import type { CallerEndpoint } from '../http/endpoint.ts';
import { type Exchange, jsonPayload, type Payload } from '../http/exchange.ts';
import { isConsoleRequest } from '../http/headers.ts';
import {
  type Accounts,
  type Caller,
  type CurrentAccount,
  createIdentification,
  type IdentificationOptions,
} from '../http/identify.ts';
import { ProblemError } from '../http/problems.ts';
import { createLeadTimes, type LeadTimes } from '../leads/lead-times.ts';
import { systemClock, toIso } from '../lib/clock.ts';
import { andThen, isPromise, takeTurn } from '../lib/event-loop.ts';
import type { WatchReserved } from '../lib/reserved.ts';
import {
  INTAKE_LEAD_POLICIES,
  INTAKE_POLICIES,
  type Limiter,
  MemoryLimiter,
  type Verdict,
} from '../limits/limiter.ts';
import { StoreUnavailableError } from '../sql/errors.ts';
import { type IntakeOutcome, receiveLeads } from './accept.ts';
import { idempotencyKeyOf, LEADS_BODY, parseWebhook, type Upload, UploadBudget } from './body.ts';
import { parseContent } from './content.ts';
import { isHoldable, MAX_HELD_BYTES, type RefusedLeadRecorder } from './refused-leads.ts';
import { sendRunOf } from './send-run.ts';
import type { IntakeStore } from './store.ts';
import { urlTokensOf } from './unidentified.ts';

/** The result of one request that sends leads, for metrics. */
export interface IntakeObservation {
  readonly status: number;
  readonly durationMs: number;
  /** The number of leads that the request has added. */
  readonly added: number;
  readonly updated: number;
  readonly violatedPolicies: readonly string[];
}

/** Receives the observations: Leadtap's metrics, or those of an embedding application. */
export interface IntakeObserver {
  observeIntake(observation: IntakeObservation): void;
  readonly watchReserved?: WatchReserved;
}

/** The parts that the endpoint uses, wherever it is mounted. */
export interface IntakeOptions extends IdentificationOptions {
  readonly store: IntakeStore;
  /** Accept tokens in the URL, as `?access_token=…`, if their only scope is `leads:write`. Default: they are refused. */
  readonly acceptsUrlTokens?: boolean | undefined;
  /** Of times without an offset, unless the token has one. Default: UTC. */
  readonly timeZone?: string | undefined;
  /** Default: 600 a minute for each user, in the memory of this process. */
  readonly limiter?: Limiter | undefined;
  /** Default: 30,000 leads a minute for each user, in the memory of this process. */
  readonly leadLimiter?: Limiter | undefined;
  /** Holds refused requests. Absent: they are not held. */
  readonly refusedLeads?: RefusedLeadRecorder | undefined;
  /** Receives one observation for each request, for metrics. */
  readonly observer?: IntakeObserver | undefined;
  /** Records who sends leads. Default: it is not recorded. */
  readonly connections?: Pick<ConnectionRecorder, 'recordSend' | 'recordUnknown'> | undefined;
}

interface IntakePayload extends Payload {
  readonly added: number;
  readonly updated: number;
}

const RATE_LIMIT_DETAIL =
  'Wait for the seconds given in `Retry-After`, then send the same request again. One request can contain up to 1,000 leads.';
const LEAD_LIMIT_DETAIL =
  'Your user has sent too many leads in this minute. Wait for the seconds given in `Retry-After`, then send the same request again.';
/** A commit whose answer was lost may have stored the leads. */
const UNAVAILABLE_DETAIL =
  'The leads may not be stored. Send the same request again after the seconds given in `Retry-After`, with the same `id` or `Idempotency-Key`.';

const URL_TOKENS_OFF =
  'This service accepts no token in the address. Send it in the header `Authorization`, or ask its operator to set `LEADTAP_INTAKE=urls` and to start it again.';

/** RFC 6750, section 2.3: for senders that cannot set a header. Throws 400 if there are several. */
function urlTokenOf(request: IncomingMessage): string | undefined {
  const [token, ...others] = urlTokensOf(request);
  if (others.length > 0)
    throw new ProblemError('malformed-request', { detail: 'Send one `access_token`, not several.' });
  return token;
}

/** Decoding 1 MiB takes 10 ms, so that only one body of more than this is decoded in a turn of the event loop. */
const MAX_BYTES_DECODED_AT_ONCE = 16 * 1024;

/** After the end of a token. */
const HELD_AFTER_EXPIRY_MS = 30 * 86_400_000;
/** Before the user in the counts of uploads. No id contains a NUL. */
const REJECTED = '\0rejected ';

const typeOf = ({ headers }: IncomingMessage): string => headers['content-type'] ?? 'application/json';

/** How often leads are checked and written again because the access level of their sender has changed meanwhile. */
const MAX_TRIES = 5;

/** After the checks of every endpoint: unfinished uploads 429, 503; number of leads 429; text of the body 400; leads 422. */
export function createIntakeEndpoint(
  options: IntakeOptions,
  accounts: Accounts,
): CallerEndpoint<CurrentAccount, IntakePayload> {
  const { store, observer, clock = systemClock } = options;
  const { limiter = new MemoryLimiter(INTAKE_POLICIES, clock) } = options;
  const { leadLimiter = new MemoryLimiter(INTAKE_LEAD_POLICIES, clock) } = options;
  const { refusedLeads } = options;
  const expiredLimiter = new MemoryLimiter(INTAKE_POLICIES, clock);
  const uploadBudget = new UploadBudget(observer?.watchReserved);
  const leadTimes = new Map<string, LeadTimes>();
  const timesOf = ({ timeZone = options.timeZone ?? 'UTC' }: VerifiedToken): LeadTimes => {
    const times = leadTimes.get(timeZone) ?? createLeadTimes({ timeZone });
    leadTimes.set(timeZone, times);
    return times;
  };
  const callers = createIdentification({
    ...options,
    accounts,
    scope: 'leads:write',
    limiter,
    rateLimitDetail: RATE_LIMIT_DETAIL,
    urlTokenOf,
    urlTokensOff: options.acceptsUrlTokens ? undefined : URL_TOKENS_OFF,
  });

  /** Throws 429. */
  const consumeLeads = ({ headers }: Exchange, userId: string, units: number): Verdict | Promise<Verdict> =>
    andThen(leadLimiter.consume(userId, units), (verdict) => {
      if (verdict.violated.length === 0) return verdict;
      addRateLimitHeaders(headers, verdict);
      throw rateLimitExceeded(verdict, LEAD_LIMIT_DETAIL);
    });

  async function receive(
    exchange: Exchange,
    caller: Caller,
    upload: Upload,
    ofOne: Verdict,
  ): Promise<IntakePayload> {
    const { request, mediaType = 'application/json' } = exchange;
    // Otherwise the account may change while the body arrives. The transaction checks it in any case.
    const hasArrived = request.complete;
    const body = await readBody(exchange, LEADS_BODY);
    upload.complete();
    const { token } = caller;
    let { user } = caller;
    const sent = () => {
      const { companyId } = user;
      return { companyId, token, body, mediaType: typeOf(request) };
    };
    try {
      if (!hasArrived) ({ user } = await callers.identifyAgain(exchange));
      const idempotencyKey = idempotencyKeyOf(request);
      const times = timesOf(token);
      const isLarge = body.length > MAX_BYTES_DECODED_AT_ONCE;
      const { companyId } = user;
      const pause = isLarge ? () => takeTurn(companyId) : undefined;
      await pause?.();
      const sentBody = { bytes: body, mediaType, contentType: typeOf(request) };
      const options = { historical: false, clock, times, pause, companyId };
      const content = await parseContent(sentBody, token.source, options);
      await pause?.();
      // Leads: 429, 422. One was counted before the body was read.
      const count = Array.isArray(content.value) ? Math.min(content.value.length, MAX_INTAKE_LEADS) : 1;
      const verdict = count > 1 ? await consumeLeads(exchange, token.userId, count - 1) : ofOne;
      addRateLimitHeaders(exchange.headers, verdict);
      for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
        const rules = { store, user, sender: token, idempotencyKey, clock, times, body };
        const outcome = await receiveLeads(content, rules);
        if (outcome.kind === 'written') {
          refusedLeads?.noteAccepted(sent());
          return toPayload(exchange, outcome);
        }
        if (outcome.kind === 'key-reused') throw new ProblemError('idempotency-key-reused');
        if (outcome.kind === 'invalid') throw new ProblemError('invalid-lead', { errors: outcome.errors });
        if (outcome.kind === 'other-person')
          throw new ProblemError('id-of-another-person', { errors: outcome.errors });
        ({ user } = await callers.identifyAgain(exchange));
      }
      throw new StoreUnavailableError(`the account of the sender has changed ${MAX_TRIES} times`);
    } catch (error) {
      if (!(error instanceof ProblemError) || !isHoldable(error)) throw error;
      throw error.asHeld(!isConsoleRequest(request) && (await refusedLeads?.hold(sent(), error)) === true);
    }
  }

  async function answer(exchange: Exchange, caller: Caller): Promise<IntakePayload> {
    const { request } = exchange;
    const { token } = caller;
    const upload = uploadBudget.open(token.userId, declaredBytes(request), request.complete);
    try {
      return await receive(exchange, caller, upload, await consumeLeads(exchange, token.userId, 1));
    } finally {
      upload.release();
    }
  }

  /**
   * Holds a request whose token has expired or has another scope. Its body is read within the limits of other requests, but of
   * counters of its own: an expired token must not use up those of a good one.
   */
  async function holdRejected(exchange: Exchange, problem: ProblemError): Promise<boolean> {
    const { request } = exchange;
    const token = exchange.token ?? problem.parts.token;
    const declared = declaredBytes(request);
    if (!refusedLeads?.mayHold(declared) || !token || isConsoleRequest(request)) return false;
    const { expiresAt = 0, userId } = token;
    if (problem.code === 'token-expired') {
      const verdict = expiredLimiter.consume(userId);
      const { violated } = isPromise(verdict) ? await verdict : verdict;
      if (violated.length > 0 || clock() - expiresAt > HELD_AFTER_EXPIRY_MS) return false;
    }
    const findUser = async () => {
      const { isRevoked, user } = await accounts.revalidateFor(token);
      return isRevoked || user?.id !== userId ? undefined : user;
    };
    const before = await findUser();
    if (!before) return false;
    let upload: Upload | undefined;
    try {
      const rule = { ...LEADS_BODY, maxBytes: MAX_HELD_BYTES };
      const mediaType = requireBody(request, rule) ?? 'application/json';
      upload = uploadBudget.open(`${REJECTED}${userId}`, declared ?? MAX_HELD_BYTES, request.complete);
      const body = await readBody(exchange, rule);
      if (body.length > MAX_BYTES_DECODED_AT_ONCE) await takeTurn(before.companyId);
      // Throws 400 or 415 for a body that would never be accepted.
      await parseWebhook(mediaType, body, typeOf(request), before.companyId);
      // The token may have been revoked while the body arrived.
      const user = await findUser();
      if (!user) return false;
      const { companyId } = user;
      return await refusedLeads.hold({ companyId, token, body, mediaType: typeOf(request) }, problem);
    } catch (error) {
      // A body that cannot be parsed, or cannot be read now.
      if (error instanceof ProblemError) return false;
      throw error;
    } finally {
      upload?.release();
    }
  }

  return {
    path: LEADS_PATH,
    methods: ['POST'],
    callers,
    body: LEADS_BODY,
    unavailableDetail: UNAVAILABLE_DETAIL,
    answer,
    onRejectedCaller: async (exchange, problem) =>
      isHoldable(problem) ? problem.asHeld(await holdRejected(exchange, problem)) : problem,
    observe(ended, payload) {
      const { status, durationMs, problem } = ended;
      const { added = 0, updated = 0 } = payload ?? {};
      const violatedPolicies = problem?.parts.violatedPolicies ?? [];
      observer?.observeIntake({ status, durationMs, added, updated, violatedPolicies });
      const token = ended.token ?? problem?.parts.token;
      // In the console, a person sees the answer.
      if (token && !(problem && isConsoleRequest(ended.request)))
        options.connections?.recordSend(token, sendRunOf(ended, clock(), { added, updated }));
    },
  };
}

function toPayload(
  exchange: Exchange,
  { results, isRepeated }: Extract<IntakeOutcome, { kind: 'written' }>,
): IntakePayload {
  const added = results.filter(({ kind }) => kind === 'added').length;
  const leads = results.map(({ id, createdAt, kind }) => ({ id, createdAt: toIso(createdAt), result: kind }));
  return {
    leads: results.length,
    added: isRepeated ? 0 : added,
    updated: isRepeated ? 0 : results.length - added,
    ...jsonPayload(exchange, added > 0 ? 201 : 200, { leads }),
  };
}
