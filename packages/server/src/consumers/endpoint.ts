/** `GET {base_url}/automation/consumers`: the consumers of the user of the token. */
import { CONSUMERS_PATH, type Consumers, type Consumer as WireConsumer } from '@leadtap/contract';
import { systemClock, toIsoOrNull } from '../clock.ts';
import type { HookStore } from '../hooks/store.ts';
import { type CallerEndpoint, READ_METHODS, type RefusalObserver } from '../http/endpoint.ts';
import { type Exchange, jsonPayload } from '../http/exchange.ts';
import {
  type Accounts,
  type Caller,
  createIdentification,
  type IdentificationOptions,
} from '../http/identify.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { PollStore } from '../poll/store.ts';
import type { Store } from '../store/store.ts';
import { toConsumerHookJson } from './consumer-hooks.ts';
import { consumerStateOf, isAwaited, listedConsumerPages, pendingOf, toGapsJson } from './states.ts';
import { consumerKeyOf } from './store.ts';

export interface ConsumersEndpointOptions extends IdentificationOptions, RefusalObserver {
  readonly store: PollStore & Pick<Store, 'consumers'>;
  readonly accounts: Accounts;
  /** The limiter of polls: both count together. */
  readonly limiter: Limiter;
  /** Writes the polls of the user that are in memory, so that a poll is listed at once. */
  readonly flushUser: (userId: string) => Promise<void>;
  readonly staleAfterMs?: number | undefined;
  /** Absent: there are no webhook subscriptions. */
  readonly hooks?: HookStore | undefined;
}

/** Counting stops here, so that the time of a request is bounded. */
const MAX_PENDING_LEADS = 1000;

export function createConsumersEndpoint(options: ConsumersEndpointOptions): CallerEndpoint {
  const { store, hooks, flushUser, staleAfterMs, observeRefusal, clock = systemClock } = options;
  const sources = { consumers: store.consumers, hooks, leads: store };

  async function list(exchange: Exchange, { token, user }: Caller) {
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
    return jsonPayload(exchange, 200, { consumers } satisfies Consumers);
  }

  return {
    path: CONSUMERS_PATH,
    methods: READ_METHODS,
    callers: createIdentification({ ...options, scope: 'leads:read' }),
    answer: list,
    observe: ({ problem }) => observeRefusal?.(problem?.parts.violatedPolicies ?? []),
  };
}
