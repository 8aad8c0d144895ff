/** `GET {base_url}/automation/consumers`: the consumers of the user of the token, as a plain Node listener. */
import { CONSUMERS_PATH, type Consumers, type Consumer as WireConsumer } from '@leadtap/contract';
import { systemClock, toIsoOrNull } from '../clock.ts';
import type { HookStore } from '../hooks/store.ts';
import {
  createHandler,
  createResponder,
  type Exchange,
  type HandlerOptions,
  type Payload,
  type RequestHandler,
} from '../http/exchange.ts';
import { createIdentification, type IdentificationOptions } from '../http/identify.ts';
import { requireMethod, requireValidHeaders } from '../http/methods.ts';
import { JSON_MEDIA_TYPE } from '../http/page-headers.ts';
import type { RequestState } from '../http/request-log.ts';
import { type Limiter, USER_POLICIES } from '../limits/limiter.ts';
import { MemoryLimiter } from '../limits/memory-limiter.ts';
import type { PollReaders } from '../poll/cache/poll-cache.ts';
import { requirePollRights } from '../poll/endpoint.ts';
import type { PollObserver } from '../poll/observer.ts';
import type { PollStore } from '../poll/store.ts';
import type { Store } from '../store/store.ts';
import { toConsumerHookJson } from './consumer-hooks.ts';
import { consumerKeyOf } from './recorder.ts';
import { consumerStateOf, isAwaited, listedConsumerPages, pendingOf, toGapsJson } from './states.ts';

export interface ConsumersHandlerOptions extends IdentificationOptions, HandlerOptions {
  readonly store: PollStore & Pick<Store, 'consumers'>;
  /** The limiter of polls: both count together. */
  readonly limiter?: Limiter | undefined;
  readonly observer?: PollObserver | undefined;
  /** Writes the polls of the user that are in memory, so that a poll is listed at once. */
  readonly flushUser: (userId: string) => Promise<void>;
  readonly staleAfterMs?: number | undefined;
  /** Absent: there are no webhook subscriptions. */
  readonly hooks?: { readonly store: HookStore } | undefined;
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
  const { store, hooks, flushUser, staleAfterMs, clock = systemClock } = options;
  const sources = { consumers: store.consumers, hooks: hooks?.store, leads: store };
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
    for await (const page of listedConsumerPages(sources, {
      userId: user.id,
      maxPendingLeads: MAX_PENDING_LEADS,
      now,
    }))
      for (const listed of page) {
        const { consumer } = listed;
        const intervalMs = consumer?.intervalMs ?? null;
        consumers.push({
          name: listed.name,
          tokenId: listed.tokenId,
          isThisToken: listed.tokenId === tokenId,
          firstPollAt: toIsoOrNull(consumer?.firstPollAt ?? null),
          lastPollAt: toIsoOrNull(consumer?.lastPollAt ?? null),
          lastStatus: consumer?.lastStatus ?? null,
          usualIntervalS: intervalMs === null ? null : Math.round(intervalMs / 1000),
          state: consumerStateOf(listed, now, staleAfterMs),
          confirmedThrough: toIsoOrNull(consumer?.confirmedThrough ?? null),
          deliveredThrough: toIsoOrNull(consumer?.deliveredThrough ?? null),
          pendingLeads: pendingOf(listed)?.pendingLeads ?? 0,
          pendingSince: toIsoOrNull(pendingOf(listed)?.pendingSince),
          gaps: toGapsJson(consumer?.gaps ?? []),
          skippedLeads: consumer?.skippedLeads ?? 0,
          skippedSince: toIsoOrNull(consumer?.skippedSince ?? null),
          tokenEnded: consumer?.tokenEnded ?? null,
          isAwaited: isAwaited(listed, now, staleAfterMs),
          hook: toConsumerHookJson(listed.hook),
        });
      }
    const body = Buffer.from(JSON.stringify({ consumers } satisfies Consumers));
    headers.push('cache-control', 'no-store', 'content-type', JSON_MEDIA_TYPE);
    headers.push('content-length', String(body.length));
    return { status: 200, body };
  };
}
