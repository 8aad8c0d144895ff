/** The webhook subscriptions of consumers. */

import { tokenKeyText } from '../accounts/token-key.ts';
import type { ConsumerKey } from '../consumers/store.ts';
import {
  type Hook,
  type HookQuery,
  type HookStore,
  hookPages,
  hostOfHook,
  type ListedHook,
  type ListedHookState,
  listedStateOf,
  nameOfHook,
} from '../hooks/store.ts';
import { createHostCheck } from '../hooks/url.ts';
import { toIso, toIsoOrNull } from '../lib/clock.ts';
import type { RecordedSubject } from './last-hours.ts';

/**
 * All hooks of a token that send events as one: what is not their number is of the hook with the worst state. A hook that sends leads is
 * one by itself. Several as one are called like their token.
 */
export interface ConsumerHook extends Omit<Hook, 'url' | 'baseUrl' | 'hours'> {
  readonly tokenName: string | null;
  readonly companyId: string;
  readonly state: ListedHookState;
  readonly count: number;
  /** Of each of them. */
  readonly recorded: readonly RecordedSubject[];
  readonly host: string;
  /** Whether this service may send to the host. */
  readonly isAllowed: boolean;
}

/** It is a consumer of its own: a 2xx confirms the leads that were sent. */
export const sendsLeads = ({ send }: Pick<ConsumerHook, 'send'>): boolean => send !== 'event';

const isSuccess = (status: number | null): boolean => status !== null && status >= 200 && status < 300;

/** Whether the last attempt was. */
export const isAccepted = ({ lastStatus }: ConsumerHook): boolean => isSuccess(lastStatus);

/** Whether any attempt was. */
export const hasAccepted = ({ lastStatus, announcedSince, announcedThrough }: ConsumerHook): boolean =>
  isSuccess(lastStatus) || announcedThrough > (announcedSince ?? announcedThrough);

export interface ConsumerHooks {
  /** Those of this consumer, which are then not in `rest`. */
  take(key: ConsumerKey): ConsumerHook | undefined;
  /** Those that send events, of tokens that have not polled yet. */
  rest(): ConsumerHook[];
  /** Those that send leads, and whether there is one that was not accepted yet. */
  readonly sendingLeads: readonly { readonly hook: ConsumerHook; readonly isPending: boolean }[];
}

export interface HookSources {
  readonly hooks: HookStore;
  /** `LEADTAP_HOOK_HOSTS`. Null: webhooks are switched off, and nothing is sent. */
  readonly hookHosts: readonly string[] | null;
}

/** One query for 200 hooks, not one for each consumer. */
export async function readConsumerHooks(
  { hooks, hookHosts }: HookSources,
  query: Omit<HookQuery, 'limit' | 'after'>,
): Promise<ConsumerHooks> {
  const maySendTo = createHostCheck(hookHosts);
  const byConsumer = new Map<string, ConsumerHook>();
  const sendingLeads: { readonly hook: ConsumerHook; readonly isPending: boolean }[] = [];
  for await (const page of hookPages(hooks, query))
    for (const listed of page) {
      const hook = toConsumerHook(listed, query.now, maySendTo);
      const key = tokenKeyText(hook);
      if (sendsLeads(hook)) sendingLeads.push({ hook, isPending: listed.isPending });
      else byConsumer.set(key, combine(byConsumer.get(key), hook));
    }
  return {
    sendingLeads,
    take(consumer) {
      const key = tokenKeyText(consumer);
      const found = byConsumer.get(key);
      byConsumer.delete(key);
      return found;
    },
    rest: () => [...byConsumer.values()],
  };
}

const toConsumerHook = (
  listed: ListedHook,
  now: number,
  maySendTo: (url: string) => boolean,
): ConsumerHook => {
  const { hook, companyId, tokenName } = listed;
  const { hours, ...rest } = hook;
  return {
    ...{ ...rest, companyId, tokenName, count: 1 },
    recorded: [{ hours, lastAt: hook.lastEventAt ?? hook.createdAt }],
    name: nameOfHook(listed),
    state: listedStateOf(listed, now),
    host: hostOfHook(hook),
    isAllowed: maySendTo(hook.url),
  };
};

const SEVERITY: Readonly<Record<ListedHookState, number>> = {
  active: 0,
  failing: 1,
  disabled: 2,
  expired: 3,
  'key-removed': 4,
};

function combine(known: ConsumerHook | undefined, next: ConsumerHook): ConsumerHook {
  if (!known) return next;
  const isWorse =
    SEVERITY[next.state] - SEVERITY[known.state] ||
    next.failures - known.failures ||
    (next.lastEventAt ?? 0) - (known.lastEventAt ?? 0);
  const isAllowed = known.isAllowed && next.isAllowed;
  const { tokenName: name } = known;
  const recorded = [...known.recorded, ...next.recorded];
  return { ...(isWorse > 0 ? next : known), name, isAllowed, count: known.count + 1, recorded };
}

/** After this, leads wait for a consumer that has never polled: the position of its hook, or the subscription. */
export const startOf = (hook: ConsumerHook): number =>
  sendsLeads(hook) ? hook.announcedThrough : hook.createdAt;

/** As every output has it: over HTTP, in `leadtap consumers --json` and in `/status.json`. Its id is shown to its user alone. */
export const toConsumerHookJson = (hook: ConsumerHook | undefined) =>
  hook === undefined
    ? null
    : {
        count: hook.count,
        send: hook.send,
        host: sendsLeads(hook) ? hook.host : null,
        state: hook.state,
        isAllowed: hook.isAllowed,
        isAccepted: isAccepted(hook),
        announcedThrough: toIso(hook.announcedThrough),
        lastEventAt: toIsoOrNull(hook.lastEventAt),
        lastStatus: hook.lastStatus,
        failures: hook.failures,
        failingSince: toIsoOrNull(hook.failingSince),
      };
