/**
 * `GET {base_url}/automation/new-leads`, the one endpoint, as a plain Node listener. The standalone server calls it, the
 * Fastify plugin mounts it, and Express or bare `node:http` can mount it too.
 */
import { NEW_LEADS_PATH } from '@leadtap/contract';
import { systemClock } from '../clock.ts';
import { mayPoll } from '../leads/access.ts';
import { poll, type ReadPage } from '../leads/poll.ts';
import { type Limiter, USER_POLICIES } from '../limits/limiter.ts';
import { MemoryLimiter } from '../limits/memory-limiter.ts';
import type { PollStore } from '../store/store.ts';
import { requireScope } from './authenticate.ts';
import { disconnectSignal } from './connections.ts';
import {
  createHandler,
  createResponder,
  type Exchange,
  type MountOptions,
  type Payload,
  type RequestHandler,
  type Responder,
} from './exchange.ts';
import { createIdentification, type IdentificationOptions } from './identify.ts';
import { requireHost, requireMethod } from './methods.ts';
import {
  addPageHeaders,
  JSON_MEDIA_TYPE,
  matchesEtag,
  type PollAnswer,
  type PollObserver,
  type PollState,
  toObservation,
} from './page-response.ts';
import { ProblemError } from './problems.ts';
import { parseQuery } from './query.ts';

/** The parts that the endpoint uses, wherever it is mounted. */
export interface PollOptions extends IdentificationOptions {
  readonly store: PollStore;
  /** Default: 100 a minute and 1000 an hour for each user, in the memory of this process. */
  readonly limiter?: Limiter;
  /** Receives one observation for each request, for metrics. */
  readonly observer?: PollObserver;
}

export interface PollHandlerOptions extends PollOptions, MountOptions {}

/** Answers every request that it receives: routing by path is up to the caller. */
export type PollHandler = RequestHandler;

export const createPollHandler = (options: PollHandlerOptions): PollHandler =>
  createHandler(NEW_LEADS_PATH, createPollResponder(options), options);

export function createPollResponder(options: PollOptions): Responder {
  const answer = createAnswer(options);
  return createResponder<PollState>({
    createState: () => ({}),
    answer: async (exchange) => toPagePayload(await answer(exchange), exchange),
    observe: (outcome, request) => options.observer?.observe(toObservation(outcome, request.method)),
  });
}

/** The checks, in their order. A failed check throws a `ProblemError`. */
function createAnswer(options: PollOptions): (exchange: Exchange<PollState>) => Promise<PollAnswer> {
  const { clock = systemClock } = options;
  const { limiter = new MemoryLimiter(USER_POLICIES, clock) } = options;
  const identify = createIdentification({ ...options, limiter, clock });

  return async (exchange) => {
    const { request, response, context, headers, state } = exchange;
    requireHost(request);
    requireMethod(request);
    // Token: 401. Rate limit: 429. User: 404.
    const { token, user, reader } = await identify(exchange);
    // Plan: 403.
    if (!mayPoll(user)) throw new ProblemError('professional-plan-required');
    // Scope: 403.
    requireScope(token, 'leads:read');
    // Query: 400.
    const query = parseQuery(searchOf(request.url ?? ''));

    const readPage: ReadPage = (page) => reader.readPage(page, () => disconnectSignal(request, response));
    const result = await poll(readPage, user, query);
    addPageHeaders(headers, context.baseUrl(), result, query);
    const isNotModified = matchesEtag(request.headers['if-none-match'], result.page.leads.etag);
    state.leads = result.page.leads.count;
    state.answer = { status: isNotModified ? 304 : 200, poll: result, query };
    return state.answer;
  };
}

/** The query string of a URL. */
function searchOf(url: string): string {
  const mark = url.indexOf('?');
  return mark === -1 ? '' : url.slice(mark + 1);
}

function toPagePayload(
  { status, poll: result }: PollAnswer,
  { request, headers }: Exchange<PollState>,
): Payload {
  const { body } = result.page.leads;
  // RFC 9110: a HEAD has the headers of the 200, also with status 304.
  if (status === 304 && request.method !== 'HEAD') return { status, body: undefined };
  headers.push('content-type', JSON_MEDIA_TYPE, 'content-length', String(body.length));
  return { status, body };
}
