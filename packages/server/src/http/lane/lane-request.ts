import { addressedAs, callerOf, type Trust } from '../forwarded.ts';
import type { PollRequest } from '../poll-request.ts';
import type { Addressed } from '../public-url.ts';
import type { LaneConnection } from './connection.ts';
import type { PlainPoll } from './plain-poll.ts';

/** What the lane knows of where requests come from. */
export interface Origins {
  /** The `{base_url}` as the caller sees it. */
  readonly publicUrl: (addressed: Addressed) => string;
  /** Which proxies' word counts about where a request came from. */
  readonly trust: Trust | undefined;
}

/** A plain poll as the endpoint wants to see a request. */
export class LaneRequest implements PollRequest {
  readonly #origins: Origins;
  readonly #poll: PlainPoll;
  readonly #connection: LaneConnection;

  constructor(origins: Origins, poll: PlainPoll, connection: LaneConnection) {
    this.#origins = origins;
    this.#poll = poll;
    this.#connection = connection;
  }

  get authorization(): string | undefined {
    return this.#poll.authorization;
  }

  get ifNoneMatch(): string | undefined {
    return this.#poll.ifNoneMatch;
  }

  get search(): string {
    return this.#poll.search;
  }

  address(): string {
    return callerOf(this.#poll, this.#remoteAddress, this.#origins.trust);
  }

  baseUrl(): string {
    const { publicUrl, trust } = this.#origins;
    // A connection finds its address anew each time.
    const isTrusted = trust?.(this.#remoteAddress, 0) ?? false;
    const { host, protocol } = addressedAs(this.#poll, isTrusted);
    return publicUrl({ host, protocol, socket: this.#connection.socket });
  }

  get #remoteAddress(): string {
    return this.#connection.socket.remoteAddress ?? '';
  }

  isGone(): boolean {
    return this.#connection.socket.destroyed;
  }

  whenGone(): AbortSignal {
    return this.#connection.whenGone();
  }
}
