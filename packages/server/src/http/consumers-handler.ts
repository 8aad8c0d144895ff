/** `GET {base_url}/automation/consumers`: the consumers of the user of the token, as a plain Node listener. */
import { CONSUMERS_PATH, type Consumers, type Consumer as WireConsumer } from '@leadtap/contract';
import type { PollReaders } from '../cache/poll-cache.ts';
import { systemClock, toIso, toIsoOrNull } from '../clock.ts';
import { consumerKeyOf } from '../leads/consumer-recorder.ts';
import { activityOf, consumerPages } from '../leads/consumers.ts';
import { type Limiter, USER_POLICIES } from '../limits/limiter.ts';
import { MemoryLimiter } from '../limits/memory-limiter.ts';
import type { PollStore, Store } from '../store/store.ts';
import {
  createHandler,
  createResponder,
  type Exchange,
  type MountOptions,
  type Payload,
  type RequestHandler,
} from './exchange.ts';
import { createIdentification, type IdentificationOptions } from './identify.ts';
import { requireMethod, requireValidHeaders } from './methods.ts';
import { JSON_MEDIA_TYPE } from './page-headers.ts';
import { requirePollRights } from './poll-handler.ts';
import type { PollObserver } from './poll-observer.ts';
import type { RequestState } from './request-log.ts';

export interface ConsumersHandlerOptions extends IdentificationOptions, MountOptions {
  readonly store: PollStore & Pick<Store, 'consumers'>;
  /** The limiter of polls: both count together. */
  readonly limiter?: Limiter;
  readonly observer?: PollObserver;
  /** Writes the polls of the user that are in memory, so that a poll is listed at once. */
  readonly flushUser: (userId: string) => Promise<void>;
  readonly staleAfterMs?: number | undefined;
}

export const createConsumersHandler = (
  options: ConsumersHandlerOptions,
  readers: PollReaders,
): RequestHandler =>
  createHandler(
    CONSUMERS_PATH,
    createResponder<RequestState>({
      createState: () => ({}),
      answer: createConsumersAnswer(options, readers),
      observe: ({ state }) => options.observer?.observeRefusal?.(state.problem?.parts.violatedPolicies ?? []),
    }),
    options,
  );

/** Counting stops here, so that the time of a request is bounded. */
const MAX_PENDING_LEADS = 1000;

/** The checks are those of a poll, in the same order. */
function createConsumersAnswer(
  options: ConsumersHandlerOptions,
  readers: PollReaders,
): (exchange: Exchange) => Promise<Payload> {
  const { store, flushUser, staleAfterMs, clock = systemClock } = options;
  const { limiter = new MemoryLimiter(USER_POLICIES, clock) } = options;
  const { identify } = createIdentification({ ...options, readers, limiter, clock });

  return async (exchange) => {
    const { request, headers } = exchange;
    requireValidHeaders(request);
    requireMethod(request);
    const { token, user } = await identify(exchange);
    requirePollRights({ user, token });
    await flushUser(user.id);
    const { tokenId } = consumerKeyOf(token);
    const now = clock();
    const consumers: WireConsumer[] = [];
    for await (const page of consumerPages(store, {
      userId: user.id,
      maxPendingLeads: MAX_PENDING_LEADS,
      now,
    }))
      for (const consumer of page)
        consumers.push({
          name: consumer.name,
          tokenId: consumer.tokenId,
          isThisToken: consumer.tokenId === tokenId,
          lastPollAt: toIso(consumer.lastPollAt),
          lastStatus: consumer.lastStatus,
          usualIntervalS: consumer.intervalMs === null ? null : Math.round(consumer.intervalMs / 1000),
          state: activityOf(consumer, now, staleAfterMs),
          confirmedThrough: toIsoOrNull(consumer.confirmedThrough),
          deliveredThrough: toIsoOrNull(consumer.deliveredThrough),
          pendingLeads: consumer.pendingLeads,
          // There are no webhook subscriptions yet.
          hook: null,
        });
    const body = Buffer.from(JSON.stringify({ consumers } satisfies Consumers));
    headers.push('cache-control', 'no-store', 'content-type', JSON_MEDIA_TYPE);
    headers.push('content-length', String(body.length));
    return { status: 200, body };
  };
}
