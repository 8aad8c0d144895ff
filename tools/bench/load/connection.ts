import { connect, type Socket } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');
const LENGTH = Buffer.from('content-length: ');
const LINK_SINCE = Buffer.from('?since=');
const OK = 200;
const CREATED = 201;
const ZERO = 0x30;

/** All connections read into it: a response is parsed before the next read, and nothing of it is kept. */
const INPUT = Buffer.allocUnsafeSlow(256 * 1024);

export interface Request {
  readonly bytes: Buffer;
  /** Where the value of `since` begins, to be overwritten with that of the answer's `Link`. */
  readonly sinceAt?: number;
  readonly sinceLength?: number;
}

export interface Answers {
  /** The whole answer has come. */
  onAnswer(connection: Connection, bytes: number): void;
  onFailure(error: Error): void;
}

/**
 * A kept-alive connection over a plain socket. It reads no more of a response than its status and length: the
 * load generator must be faster than the server it measures.
 */
export class Connection {
  /** For the owner of the connection: when the request that is under way was due. */
  dueAt = 0;
  readonly #socket: Socket;
  readonly #answers: Answers;
  #request: Request | undefined;
  /** Of the answer's body, still to come. */
  #remaining = 0;
  #received = 0;
  /** The beginning of a head that did not come in one piece. */
  #begun: Buffer | undefined;

  private constructor(socket: Socket, answers: Answers) {
    this.#socket = socket;
    this.#answers = answers;
  }

  static open(port: number, answers: Answers): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const onread = {
        buffer: INPUT,
        callback: (length: number) => {
          connection.#read(INPUT, length);
          return true;
        },
      };
      const socket = connect({ host: '127.0.0.1', port, noDelay: true, onread });
      const connection = new Connection(socket, answers);
      socket.once('connect', () => resolve(connection));
      socket.once('error', (error) => {
        reject(error);
        answers.onFailure(error);
      });
      socket.once('close', () => {
        if (connection.#request) answers.onFailure(new Error('the server hung up'));
      });
    });
  }

  send(request: Request): void {
    this.#request = request;
    this.#received = 0;
    this.#socket.write(request.bytes);
  }

  close(): void {
    this.#request = undefined;
    this.#socket.destroy();
  }

  #read(input: Buffer, length: number): void {
    if (!this.#request) return;
    this.#received += length;
    if (this.#remaining > 0) this.#remaining -= length;
    else if (!this.#readHead(input, length)) return;
    if (this.#remaining === 0) this.#finish();
    else if (this.#remaining < 0) this.#fail('more bytes came than the head had announced');
  }

  /** False when the head is not whole yet, or not what it should be. */
  #readHead(input: Buffer, length: number): boolean {
    if (this.#begun) {
      const whole = Buffer.concat([this.#begun, input.subarray(0, length)]);
      this.#begun = undefined;
      return this.#readHead(whole, whole.length);
    }
    const end = input.indexOf(HEAD_END);
    // Behind `length` lie the remains of earlier answers.
    if (end < 0 || end + HEAD_END.length > length) {
      this.#begun = Buffer.from(input.subarray(0, length));
      return false;
    }
    const status = number(input, 9);
    if (status !== OK && status !== CREATED) {
      this.#fail(`answered ${input.toString('utf8', 0, Math.min(length, 2000))}`);
      return false;
    }
    const lengthAt = input.indexOf(LENGTH);
    if (lengthAt < 0 || lengthAt > end) {
      this.#fail('the answer has no content-length');
      return false;
    }
    this.#remaining = number(input, lengthAt + LENGTH.length) - (length - end - HEAD_END.length);
    this.#follow(input, end);
    return true;
  }

  /** Makes the user's next request the one that the `Link` of this answer names. */
  #follow(input: Buffer, end: number): void {
    const { bytes, sinceAt, sinceLength = 0 } = this.#request ?? {};
    if (!bytes || sinceAt === undefined) return;
    const linkAt = input.indexOf(LINK_SINCE) + LINK_SINCE.length;
    if (linkAt < LINK_SINCE.length || linkAt > end) this.#fail('the answer has no Link to follow');
    else input.copy(bytes, sinceAt, linkAt, linkAt + sinceLength);
  }

  #finish(): void {
    this.#request = undefined;
    this.#answers.onAnswer(this, this.#received);
  }

  #fail(message: string): void {
    this.close();
    this.#answers.onFailure(new Error(message));
  }
}

function number(input: Buffer, from: number): number {
  let value = 0;
  for (let at = from; ; at += 1) {
    const digit = (input[at] ?? 0) - ZERO;
    if (digit < 0 || digit > 9) return value;
    value = value * 10 + digit;
  }
}
