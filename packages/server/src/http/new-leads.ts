import { NEW_LEADS_PATH } from '@leadtap/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VerifyToken } from '../accounts/verification.ts';
import { type Clock, systemClock } from '../clock.ts';
import { FAILED_TOKEN_POLICIES, type Limiter, USER_POLICIES } from '../limits/limiter.ts';
import { MemoryLimiter } from '../limits/memory-limiter.ts';
import { answersFrom } from '../memory/answers-from.ts';
import type { PollStore } from '../store/store.ts';
import { type AnswerPoll, makeAnswerPoll } from './answer-poll.ts';
import { answerProblem } from './answer-problem.ts';
import { whenGone } from './caller-gone.ts';
import { onlyAnswers } from './methods.ts';
import { observePolls, type PollObserver } from './observe-polls.ts';
import { type PollRequest, searchOf } from './poll-request.ts';
import { type HeaderList, JSON_MEDIA_TYPE, type PollAnswer } from './poll-state.ts';
import { makePublicUrl, type PublicUrl } from './public-url.ts';
import { stateOf } from './request-state.ts';

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

/** Options to what answers polls, with the defaults filled in. */
export function pollAnswerer(options: NewLeadsOptions): AnswerPoll {
  const { store, verifyToken, clock = systemClock } = options;
  return makeAnswerPoll({
    verifyToken,
    answersFor: answersFrom(store),
    limiter: options.limiter ?? new MemoryLimiter(USER_POLICIES, clock),
    failedTokens: options.failedTokens ?? new MemoryLimiter(FAILED_TOKEN_POLICIES, clock),
  });
}

/** `GET {base_url}/automation/new-leads` as a Fastify plugin. */
export async function newLeads(app: FastifyInstance, options: NewLeadsOptions): Promise<void> {
  answerWith(app, pollAnswerer(options), options);
}

/** The route itself. */
export function answerWith(
  app: FastifyInstance,
  answerPoll: AnswerPoll,
  { observer, ...options }: Pick<NewLeadsOptions, 'observer' | 'publicUrl'>,
): void {
  const publicUrl = options.publicUrl ?? makePublicUrl(undefined, app.prefix);
  app.setErrorHandler(answerProblem);
  app.addHook('onRequest', async (request, reply) => void reply.header('x-request-id', request.id));
  if (observer) observePolls(app, observer);

  app.get(NEW_LEADS_PATH, {
    exposeHeadRoute: true,
    handler: async (request, reply) => {
      const state = stateOf(request);
      const addHeaders = () => {
        for (const [name, value] of pairs(state.headers)) reply.header(name, value);
      };
      const answer = await answerPoll(toPollRequest(request, reply, publicUrl), state).finally(addHeaders);
      return send(request, reply, answer);
    },
  });
  onlyAnswers(app, NEW_LEADS_PATH);
}

const toPollRequest = (request: FastifyRequest, reply: FastifyReply, publicUrl: PublicUrl): PollRequest => ({
  authorization: request.headers.authorization,
  ifNoneMatch: request.headers['if-none-match'],
  search: searchOf(request.url),
  address: () => request.ip,
  baseUrl: () => publicUrl(request),
  isGone: () => reply.raw.destroyed,
  whenGone: () => whenGone(reply.raw),
});

function* pairs(headers: HeaderList): Generator<[string, string]> {
  for (let n = 0; n < headers.length; n += 2) yield [headers[n] ?? '', headers[n + 1] ?? ''];
}

function send(request: FastifyRequest, reply: FastifyReply, { status, poll }: PollAnswer): FastifyReply {
  reply.code(status);
  if (status === 304 && request.method === 'GET') return reply.send();
  // HEAD gets the body too: Fastify sends its length alone, and RFC 9110 wants that of the 200 also with a 304.
  return reply.type(JSON_MEDIA_TYPE).send(poll.page.leads.body);
}
