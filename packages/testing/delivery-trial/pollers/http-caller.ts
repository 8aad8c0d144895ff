import { NEW_LEADS_PATH } from '@leadtap/contract';

/** The instances of a service, and how to get tokens for their users. */
export interface Installation {
  readonly urls: readonly string[];
  token(userId: string): Promise<string>;
  /** After which clients give up a request. Absent, or undefined: they wait for as long as it takes. */
  readonly timeoutMs?: () => number | undefined;
}

/** Of one request. */
export function timeoutSignal({ timeoutMs }: Installation): AbortSignal | null {
  const ms = timeoutMs?.();
  return ms === undefined ? null : AbortSignal.timeout(ms);
}

/** Below the 100 a minute that a user may ask. */
const POLLS_OF_A_USER = 90;

/**
 * Asks one instance after the other, as a load balancer would have it, in the name of one user after the other who all
 * see the same, because each of them may ask only so often.
 */
export class HttpCaller {
  readonly #installation: Installation;
  readonly #userIds: readonly string[];
  #polls = 0;
  #token: Promise<string> | undefined;

  constructor(installation: Installation, userIds: readonly string[]) {
    this.#installation = installation;
    this.#userIds = userIds;
  }

  async request(method: 'GET' | 'HEAD', query: string, headers: Record<string, string>): Promise<Response> {
    const { urls, token } = this.#installation;
    if (this.#polls % POLLS_OF_A_USER === 0) this.#token = token(this.#userId());
    const url = `${urls[this.#polls % urls.length]}${NEW_LEADS_PATH}?${query}`;
    this.#polls += 1;
    const authorization = `Bearer ${await this.#token}`;
    const signal = timeoutSignal(this.#installation);
    return fetch(url, { method, headers: { authorization, ...headers }, signal });
  }

  #userId(): string {
    return this.#userIds[(this.#polls / POLLS_OF_A_USER) % this.#userIds.length] ?? '';
  }
}
