/** What polls and clients rely on. */
import type { Fault } from './fault.ts';

export const POLLS: readonly Fault[] = [
  {
    name: 'stamp-is-the-time-of-an-answer',
    breaks:
      'A lead gets the time of an answer that did not have it, and a client that asks from there misses it.',
    file: 'packages/server/src/store/sqlite/stamps.ts',
    find: 'Math.max(this.#lastOf(companyId), this.#now) + 1',
    replace: 'Math.max(this.#lastOf(companyId) + 1, this.#now)',
    owner: 'packages/server/test/store/store-conforms.test.ts',
    test: 'D3: ',
  },
  {
    name: 'date-is-that-of-the-answer',
    breaks: 'A client that takes Date as its next since misses leads that came while its page was sent.',
    file: 'packages/server/src/poll/endpoint.ts',
    find: 'httpDate(readAt),',
    replace: 'httpDate(Date.now()),',
    owner: 'packages/server/test/http/200-date-is-a-safe-since.test.ts',
  },
  {
    name: 'link-loses-the-limit',
    breaks: 'A client that follows Link gets larger pages than it asked for.',
    file: 'packages/server/src/poll/endpoint.ts',
    find: '&limit=',
    replace: '&size=',
    owner: 'packages/server/test/http/200-link-is-followable.test.ts',
  },
  {
    name: 'long-poll-outlives-its-token',
    breaks: 'A poll is held for up to 50 seconds after its token has expired.',
    file: 'packages/server/src/poll/hold.ts',
    find: 'const expiresInMs = (token.expiresAt ?? Infinity) - clock() + EXPIRY_MARGIN_MS;',
    replace: 'const expiresInMs = Infinity;',
    owner: 'packages/server/test/long-polls/access-changes-end-the-wait.test.ts',
    test: 'by timers of Node',
  },
  {
    name: 'client-ignores-retry-after',
    breaks: 'The client asks again before the time that the service has named.',
    file: 'packages/client/src/pace.ts',
    find: 'this.#heldUntil = now + retryAfterMs;',
    replace: 'this.#heldUntil = now;',
    owner: 'packages/client/test/requests-respect-rate-limits-and-back-off.test.ts',
    test: 'waits as long as the service says',
  },
];
