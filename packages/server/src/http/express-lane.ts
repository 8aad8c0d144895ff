import type { IncomingMessage, ServerResponse } from 'node:http';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import { CallerGoneError } from '../store/store.ts';
import type { AnswerPoll } from './answer-poll.ts';
import { asProblem, problemAnswer } from './answer-problem.ts';
import { CLIENT_CLOSED_REQUEST, whenGone } from './caller-gone.ts';
import { type PollRequest, searchOf } from './poll-request.ts';
import { JSON_MEDIA_TYPE, type PollAnswer, type PollState } from './poll-state.ts';
import type { ProblemError } from './problems.ts';
import { requestId } from './request-id.ts';

/** One poll that the lane has answered, or could not. */
export interface ServedPoll {
  readonly id: string;
  readonly request: IncomingMessage;
  readonly path: string;
  readonly state: PollState;
  readonly status: number;
  readonly durationMs: number;
  /** The connection broke before the whole answer was sent. */
  readonly brokeOff: boolean;
}

export interface LaneOptions {
  readonly basePath: string;
  readonly answerPoll: AnswerPoll;
  /** The `{base_url}` as the caller sees it. */
  readonly publicUrl: (request: IncomingMessage) => string;
  /** While the service stops, requests are not for the lane. */
  readonly isClosing: () => boolean;
  readonly onProblem: (problem: ProblemError, requestId: string) => void;
  /** Told of each poll when its answer has been sent. */
  readonly onServed: (served: ServedPoll) => void;
}

/** Takes the request, or leaves it to whoever comes next. */
export type Lane = (request: IncomingMessage, response: ServerResponse) => boolean;

/**
 * Plain polls are answered on Node's own server, before Fastify sees them: its routing, its hooks and its objects for each
 * request cost about as much as all that an empty poll has to find out (docs/performance.md). What the answer is, is
 * decided in `answer-poll.ts` either way. Whatever is not a plain poll goes on to Fastify.
 */
export function expressLane(options: LaneOptions): Lane {
  const path = `${options.basePath}${NEW_LEADS_PATH}`;
  const withQuery = `${path}?`;
  return (request, response) => {
    const { method, url = '', headers } = request;
    if (method !== 'GET' || (url !== path && !url.startsWith(withQuery))) return false;
    if (headers.host === undefined || options.isClosing()) return false;
    serve(options, path, request, response);
    return true;
  };
}

async function serve(
  options: LaneOptions,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const startedAt = performance.now();
  const id = requestId(request);
  const state: PollState = { headers: ['x-request-id', id] };
  const tell = (status: number, brokeOff: boolean) =>
    options.onServed({
      id,
      request,
      path,
      state,
      status,
      durationMs: performance.now() - startedAt,
      brokeOff,
    });
  try {
    const answer = await options.answerPoll(new LaneRequest(options, request, response), state);
    lastOne(options, state);
    sendPage(response, answer, state);
  } catch (error) {
    if (error instanceof CallerGoneError) {
      tell(CLIENT_CLOSED_REQUEST, false);
      return;
    }
    lastOne(options, state);
    state.problem = asProblem(error);
    options.onProblem(state.problem, id);
    sendProblem(response, state.problem, state, id);
  }
  whenSent(response, (brokeOff) => tell(response.statusCode, brokeOff));
}

/** Nearly always the system has taken the whole answer by now, and nobody needs to wait for an event. */
function whenSent(response: ServerResponse, tell: (brokeOff: boolean) => void): void {
  if (response.destroyed) tell(true);
  else if (response.socket?.writableLength === 0) tell(false);
  else response.on('close', () => tell(!response.writableFinished));
}

/** Else a client would keep the connection of its last answer, and the stop would wait for that. */
function lastOne({ isClosing }: LaneOptions, { headers }: PollState): void {
  if (isClosing()) headers.push('connection', 'close');
}

class LaneRequest implements PollRequest {
  readonly #options: LaneOptions;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;

  constructor(options: LaneOptions, request: IncomingMessage, response: ServerResponse) {
    this.#options = options;
    this.#request = request;
    this.#response = response;
  }

  get authorization(): string | undefined {
    return this.#request.headers.authorization;
  }

  get ifNoneMatch(): string | undefined {
    return this.#request.headers['if-none-match'];
  }

  get search(): string {
    return searchOf(this.#request.url ?? '');
  }

  address(): string {
    return this.#request.socket.remoteAddress ?? '';
  }

  baseUrl(): string {
    return this.#options.publicUrl(this.#request);
  }

  isGone(): boolean {
    return this.#response.destroyed;
  }

  whenGone(): AbortSignal {
    return whenGone(this.#response);
  }
}

function sendPage(response: ServerResponse, { status, poll }: PollAnswer, { headers }: PollState): void {
  const { body } = poll.page.leads;
  if (status === 304) {
    response.writeHead(status, headers).end();
    return;
  }
  headers.push('content-type', JSON_MEDIA_TYPE, 'content-length', String(Buffer.byteLength(body)));
  response.writeHead(status, headers).end(body);
}

function sendProblem(response: ServerResponse, problem: ProblemError, state: PollState, id: string): void {
  const { status, headers, body } = problemAnswer(problem, id);
  for (const [name, value] of Object.entries({ ...headers, 'content-length': String(body.length) }))
    if (name !== 'x-request-id') state.headers.push(name, value);
  response.writeHead(status, state.headers).end(body);
}
