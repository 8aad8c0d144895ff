import { NEW_LEADS_PATH } from '@leadtap/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VerifyToken } from '../accounts/verification.ts';
import { type Clock, systemClock } from '../clock.ts';
import { type Poll, type PollQuery, poll } from '../leads/poll.ts';
import { renderPage } from '../leads/render.ts';
import { FAILED_TOKEN_POLICIES, type Limiter, USER_POLICIES } from '../limits/limiter.ts';
import { MemoryLimiter } from '../limits/memory-limiter.ts';
import type { PollStore } from '../store/store.ts';
import { answerProblem } from './answer-problem.ts';
import { authenticate } from './authenticate.ts';
import { requirePlan, requireUser } from './caller.ts';
import { entityTag, matches } from './etag.ts';
import { onlyAnswers } from './methods.ts';
import { observePolls, type PollObserver } from './observe-polls.ts';
import { pageHeaders } from './page-headers.ts';
import { makePublicUrl, type PublicUrl } from './public-url.ts';
import { parseQuery } from './query.ts';
import { limitRate } from './rate-limit.ts';
import { questionsOf, remember, userOf } from './request-state.ts';

export interface NewLeadsOptions {
  readonly store: PollStore;
  readonly verifyToken: VerifyToken;
  /** Default: two windows for each user, in the memory of this process. */
  readonly limiter?: Limiter;
  readonly failedTokens?: Limiter;
  /** The `{base_url}` that the Link header shows. Default: as the request names it. */
  readonly publicUrl?: PublicUrl;
  readonly observer?: PollObserver;
  readonly clock?: Clock;
}

/**
 * `GET {base_url}/automation/new-leads` as a Fastify plugin. The hooks stand in the order of the checks:
 * token (401), rate limit (429), user (404), plan (403), query (400).
 */
export async function newLeads(app: FastifyInstance, options: NewLeadsOptions): Promise<void> {
  const { store, verifyToken, clock = systemClock } = options;
  const limiter = options.limiter ?? new MemoryLimiter(USER_POLICIES, clock);
  const failedTokens = options.failedTokens ?? new MemoryLimiter(FAILED_TOKEN_POLICIES, clock);
  const publicUrl = options.publicUrl ?? makePublicUrl(undefined, app.prefix);

  app.setErrorHandler(answerProblem);
  app.addHook('onRequest', async (request, reply) => void reply.header('x-request-id', request.id));
  if (options.observer) observePolls(app, options.observer);

  app.get(NEW_LEADS_PATH, {
    exposeHeadRoute: true,
    onRequest: [
      authenticate({ store, verifyToken, failedTokens, limiter }),
      limitRate(limiter),
      requireUser,
      requirePlan,
    ],
    handler: async (request: FastifyRequest<{ Querystring: Record<string, unknown> }>, reply) => {
      const query = parseQuery(request.query);
      const answer = await poll(questionsOf(request), userOf(request), query);
      remember(request, { answer: { poll: answer, query } });
      return sendPage(request, reply, publicUrl(request), answer, query);
    },
  });
  onlyAnswers(app, NEW_LEADS_PATH);
}

function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  baseUrl: string,
  answer: Poll,
  query: PollQuery,
) {
  const body = renderPage(answer.page.leads);
  const etag = entityTag(body);
  reply.headers(pageHeaders(baseUrl, answer, query, etag));
  const isKnown = matches(request.headers['if-none-match'], etag);
  if (isKnown) reply.code(304);
  if (isKnown && request.method === 'GET') return reply.send();
  // HEAD gets the body too: Fastify sends its length alone, and RFC 9110 wants that of the 200 also with a 304.
  return reply.type('application/json; charset=utf-8').send(body);
}
