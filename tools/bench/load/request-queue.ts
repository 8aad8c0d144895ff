import type { Request } from './connection.ts';
import type { RequestSet } from './messages.ts';

/** The requests of a set in turn, for ever, over all rounds: every user polls equally often. */
export class RequestQueue {
  readonly #requests: readonly Request[];
  #next = 0;

  constructor({ requests, followLinks = false }: RequestSet) {
    this.#requests = requests.map((text) => toRequest(text, followLinks));
  }

  get size(): number {
    return this.#requests.length;
  }

  next(): Request {
    const request = this.#requests[this.#next];
    if (!request) throw new Error('there are no requests');
    this.#next = (this.#next + 1) % this.#requests.length;
    return request;
  }
}

export const toRequest = (text: string, followsLink: boolean): Request => ({
  bytes: Buffer.from(text, 'latin1'),
  ...(followsLink && sinceOf(text)),
});

/** Where the value stands. It is written as in a `Link`, whose times all have the same length. */
function sinceOf(text: string): { sinceAt: number; sinceLength: number } {
  const value = /\?since=([^& ]+)/.exec(text);
  if (!value?.[1]) throw new Error('a request whose Link shall be followed needs a since');
  return { sinceAt: value.index + '?since='.length, sinceLength: value[1].length };
}
