import { MAX_LEADS_PER_PAGE, MAX_WAIT_S } from './contract.ts';
import { type ConnectionOptions, readConnection, readSince } from './options.ts';
import type { Page } from './page.ts';
import { sendPoll } from './send-poll.ts';

export interface PollOptions extends ConnectionOptions {
  /** Only leads created after it, oldest first. Without it: the newest leads, newest first. */
  readonly since?: string | Date | undefined;
  /** How many leads at most: 1 to 100. Default: 100. */
  readonly limit?: number | undefined;
  /** The `etag` of a page that the same request brought before. */
  readonly etag?: string | undefined;
  /**
   * How many seconds the service may hold the request until there is a lead: 0 to 50. Only with `since`. `timeoutMs`
   * begins when they are over. Default: 0, it answers at once.
   */
  readonly waitS?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * One request, one page. Tries nothing again: whatever goes wrong is thrown as a `LeadtapError`.
 *
 * ```js
 * const { leads, nextSince } = await poll({ baseUrl, token, since: '2026-03-02T09:30:00Z' });
 * ```
 */
export async function poll(options: PollOptions): Promise<Page> {
  const { limit = MAX_LEADS_PER_PAGE, etag, signal = new AbortController().signal } = options;
  const since = readSince(options.since);
  return sendPoll(readConnection(options), {
    since,
    limit,
    etag,
    signal,
    waitS: readWait(options.waitS, since),
  });
}

function readWait(waitS = 0, since: string | undefined): number {
  if (!(Number.isInteger(waitS) && waitS >= 0 && waitS <= MAX_WAIT_S))
    throw new RangeError(`waitS must be a whole number of seconds between 0 and ${MAX_WAIT_S}`);
  if (waitS > 0 && since === undefined)
    throw new TypeError('waitS needs since: without it the service answers at once');
  return waitS;
}
