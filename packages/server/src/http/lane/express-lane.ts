import type { Socket } from 'node:net';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import { CallerGoneError } from '../../store/store.ts';
import type { AnswerPoll } from '../answer-poll.ts';
import { asProblem } from '../answer-problem.ts';
import { CLIENT_CLOSED_REQUEST } from '../caller-gone.ts';
import { JSON_MEDIA_TYPE, type PollAnswer, type PollState } from '../poll-state.ts';
import type { ProblemError } from '../problems.ts';
import { answerHead, type RawAnswer, rawProblem } from '../raw-answer.ts';
import { requestIdFrom } from '../request-id.ts';
import { type ConnectionEnds, type ConnectionOptions, LaneConnection } from './connection.ts';
import { LaneRequest, type Origins } from './lane-request.ts';
import type { PlainPoll } from './plain-poll.ts';

/** One poll that the lane has answered, or could not. */
export interface ServedPoll {
  readonly id: string;
  readonly path: string;
  readonly traceparent: string | undefined;
  readonly state: PollState;
  readonly status: number;
  readonly durationMs: number;
  /** The connection broke before the whole answer was sent. */
  readonly brokeOff: boolean;
}

export interface LaneOptions extends Origins {
  readonly basePath: string;
  readonly answerPoll: AnswerPoll;
  readonly onProblem: (problem: ProblemError, requestId: string) => void;
  /** Told of each poll when its answer has been sent. */
  readonly onServed: (served: ServedPoll) => void;
  /** How long a connection may be silent before its first request, and after an answer. */
  readonly silenceMs: number;
  readonly keepAliveMs: number;
}

/**
 * Plain polls are read and answered on their connections, before Node's HTTP server or Fastify see them: those take
 * twice as long for a request as all that an empty poll has to find out (docs/performance.md). What the answer is, is
 * decided in `answer-poll.ts` either way. Whatever is not a plain poll is left to Node, and goes on to Fastify.
 */
export class ExpressLane {
  readonly #options: LaneOptions;
  readonly #path: string;
  readonly #keepAlive: string;
  readonly #connectionOptions: ConnectionOptions;
  readonly #connections = new Map<LaneConnection, () => void>();
  #isClosing = false;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#path = `${options.basePath}${NEW_LEADS_PATH}`;
    this.#keepAlive = `timeout=${Math.floor(options.keepAliveMs / 1000)}`;
    this.#connectionOptions = {
      path: this.#path,
      answer: (poll, asker) => void this.#answer(poll, asker).catch(() => asker.socket.destroy()),
      isClosing: () => this.#isClosing,
      silenceMs: options.silenceMs,
      keepAliveMs: options.keepAliveMs,
    };
  }

  /** A new connection. */
  take(socket: Socket, leaveToNode: () => void): void {
    const connection = new LaneConnection(socket, this.#connectionOptions, this.#ends);
    this.#connections.set(connection, leaveToNode);
  }

  /** From now on, answers are the last of their connections. */
  close(): void {
    this.#isClosing = true;
    for (const connection of this.#connections.keys()) if (connection.isIdle) connection.socket.destroy();
  }

  readonly #ends: ConnectionEnds = {
    leftToNode: (connection) => {
      const leave = this.#connections.get(connection);
      this.#connections.delete(connection);
      leave?.();
    },
    closed: (connection) => void this.#connections.delete(connection),
  };

  /** Whoever watches may fail; the others are served all the same. */
  #tell(served: ServedPoll): void {
    try {
      this.#options.onServed(served);
    } catch (error) {
      this.#options.onProblem(asProblem(error), served.id);
    }
  }

  async #answer(poll: PlainPoll, connection: LaneConnection): Promise<void> {
    const startedAt = performance.now();
    const id = requestIdFrom(poll.requestId);
    const state: PollState = { headers: ['x-request-id', id] };
    const tell = (status: number, brokeOff: boolean) =>
      this.#tell({
        id,
        path: this.#path,
        traceparent: poll.traceparent,
        state,
        status,
        durationMs: performance.now() - startedAt,
        brokeOff,
      });
    let status: number;
    let body: Buffer | undefined;
    try {
      const answer = await this.#options.answerPoll(new LaneRequest(this.#options, poll, connection), state);
      ({ status, body } = pageOf(answer, state));
    } catch (error) {
      if (error instanceof CallerGoneError) {
        tell(CLIENT_CLOSED_REQUEST, false);
        connection.socket.destroy();
        return;
      }
      state.problem = asProblem(error);
      this.#options.onProblem(state.problem, id);
      ({ status, body } = rawProblem(state.problem, id, state.headers));
    }
    const isLast = poll.isLast || this.#isClosing;
    if (isLast) state.headers.push('connection', 'close');
    else state.headers.push('connection', 'keep-alive', 'keep-alive', this.#keepAlive);
    const head = answerHead(status, state.headers);
    connection.send({ head, body, isLast, onSent: (brokeOff) => tell(status, brokeOff) });
  }
}

function pageOf({ status, poll }: PollAnswer, { headers }: PollState): RawAnswer {
  const { body } = poll.page.leads;
  if (status === 304) return { status, body: undefined };
  headers.push('content-type', JSON_MEDIA_TYPE, 'content-length', String(body.length));
  return { status, body };
}
