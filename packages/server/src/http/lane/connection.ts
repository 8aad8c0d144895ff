import type { Socket } from 'node:net';
import { LONGEST_PLAIN_POLL, type PlainPoll, readPlainPoll } from './plain-poll.ts';

/** An answer as it leaves. */
export interface LaneAnswer {
  readonly head: string;
  readonly body: Buffer | undefined;
  /** No further request is answered on this connection. */
  readonly isLast: boolean;
  /** Told when the system has taken the whole answer, or the connection broke before. */
  readonly onSent: (brokeOff: boolean) => void;
}

export interface ConnectionOptions {
  /** Of the endpoint. */
  readonly path: string;
  /** Has the poll answered, and sends the answer. */
  readonly answer: (poll: PlainPoll, connection: LaneConnection) => void;
  readonly isClosing: () => boolean;
  /** A new connection on which nothing comes is closed after this. */
  readonly silenceMs: number;
  /** The same after an answer, a second later than this. */
  readonly keepAliveMs: number;
}

/** What becomes of a connection in the end. */
export interface ConnectionEnds {
  leftToNode(connection: LaneConnection): void;
  closed(connection: LaneConnection): void;
}

/** Longer than is announced, as Node does it: else whoever uses the connection at the last moment would find it closed. */
const GRACE_MS = 1000;
/** Joining so few bytes with the head costs less than giving the system two pieces. */
const SHORT_BODY = 1024;

/**
 * A connection of which plain polls are read and answered here, one after the other. With the first bytes that are
 * anything else, it is left to Node's HTTP server for good, and those bytes with it.
 */
export class LaneConnection {
  readonly socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #ends: ConnectionEnds;
  #state: 'reading' | 'answering' | 'over' = 'reading';
  #hasPolled = false;
  /** Came before the last answer was sent. */
  #early: Buffer | undefined;
  #sending: LaneAnswer | undefined;
  #gone: AbortController | undefined;

  constructor(socket: Socket, options: ConnectionOptions, ends: ConnectionEnds) {
    this.socket = socket;
    this.#options = options;
    this.#ends = ends;
    socket.setTimeout(options.silenceMs);
    for (const [event, listener] of this.#listeners) socket.on(event, listener);
  }

  get isIdle(): boolean {
    return this.#state === 'reading';
  }

  /** Aborted when the caller hangs up before it is answered. */
  whenGone(): AbortSignal {
    this.#gone ??= new AbortController();
    if (this.socket.destroyed) this.#gone.abort();
    return this.#gone.signal;
  }

  readonly #listeners = [
    ['data', (bytes: Buffer) => this.#receive(bytes)],
    ['end', () => this.#hearEnd()],
    ['timeout', () => this.#timeOut()],
    // What went wrong does not matter: it closes.
    ['error', () => undefined],
    ['close', () => this.#close()],
  ] as const;

  #receive(bytes: Buffer): void {
    if (this.#state === 'reading') this.#read(bytes);
    else if (this.#state === 'answering') {
      this.#early = bytes;
      this.socket.pause();
    }
  }

  #read(bytes: Buffer): void {
    const { path, isClosing } = this.#options;
    const isShort = bytes.length <= LONGEST_PLAIN_POLL;
    const poll = isShort && !isClosing() ? readPlainPoll(bytes.toString('latin1'), path) : undefined;
    if (poll) this.#answer(poll);
    else this.#leaveToNode(bytes);
  }

  #leaveToNode(bytes: Buffer): void {
    const { socket } = this;
    this.#state = 'over';
    for (const [event, listener] of this.#listeners) socket.off(event, listener);
    socket.setTimeout(0);
    socket.unshift(bytes);
    this.#ends.leftToNode(this);
    socket.resume();
  }

  #answer(poll: PlainPoll): void {
    this.#state = 'answering';
    if (!this.#hasPolled) this.socket.setTimeout(this.#options.keepAliveMs + GRACE_MS);
    this.#hasPolled = true;
    this.#options.answer(poll, this);
  }

  send(answer: LaneAnswer): void {
    const { socket } = this;
    const { head, body } = answer;
    this.#sending = answer;
    if (body === undefined || body.length <= SHORT_BODY) {
      socket.write(body ? head + body.toString('latin1') : head, 'latin1', this.#onTaken);
    } else {
      socket.cork();
      socket.write(head, 'latin1');
      socket.write(body, this.#onTaken);
      socket.uncork();
    }
  }

  /** By the system, all of it; or the connection has broken. */
  readonly #onTaken = (error: Error | null | undefined): void => {
    const answer = this.#sending;
    this.#sending = undefined;
    answer?.onSent(Boolean(error));
    if (!error) this.#goOn(answer?.isLast);
  };

  #goOn(isOver = false): void {
    if (this.#state === 'over') return;
    if (isOver || this.#options.isClosing()) this.#hangUp();
    else {
      this.#state = 'reading';
      if (this.#early) this.#readEarly(this.#early);
    }
  }

  #readEarly(bytes: Buffer): void {
    this.#early = undefined;
    this.#read(bytes);
    this.socket.resume();
  }

  #hangUp(): void {
    this.#state = 'over';
    this.socket.destroySoon();
  }

  /** Whoever closes its side is taken for gone, as by Node's server: that is how clients hang up. What is being sent still is. */
  #hearEnd(): void {
    if (this.#sending) this.#hangUp();
    else this.socket.destroy();
  }

  /** Nothing has moved for a while. That an answer takes long to find is not the caller's fault; that nobody takes it is. */
  #timeOut(): void {
    if (this.#state === 'reading' || this.#sending) this.socket.destroy();
  }

  #close(): void {
    this.#state = 'over';
    this.#gone?.abort();
    this.#ends.closed(this);
  }
}
