/** The webhook subscriptions of consumers. */
import { setImmediate } from 'node:timers/promises';
import { toIso, toIsoOrNull } from '../clock.ts';
import {
  type Hook,
  type HookQuery,
  type HookState,
  type HookStore,
  hookStateOf,
  type ListedHook,
} from '../hooks/store.ts';
import { scopeOf } from '../leads/access.ts';
import type { PollQueries } from '../poll/store.ts';
import { type Consumer, type ConsumerKey, consumerKeyText } from './store.ts';

/** All hooks of a token as one: what is not their number is of the hook with the worst state. */
export interface ConsumerHook
  extends ConsumerKey,
    Pick<
      Hook,
      'createdAt' | 'announcedThrough' | 'lastEventAt' | 'lastStatus' | 'failures' | 'failingSince'
    > {
  readonly name: string | null;
  readonly companyId: string;
  readonly state: HookState;
  readonly count: number;
}

/** SQLite answers no poll while it reads a page: some milliseconds. */
const HOOKS_PER_PAGE = 200;

/** All hooks, or those of a company or a user, page by page. */
export async function* hookPages(
  hooks: HookStore | undefined,
  { now, companyId, userId }: Omit<HookQuery, 'limit' | 'after'>,
): AsyncGenerator<readonly ListedHook[]> {
  if (!hooks) return;
  let page: readonly ListedHook[] = [];
  do {
    page = await hooks.list({ now, companyId, userId, after: page.at(-1)?.hook.id, limit: HOOKS_PER_PAGE });
    yield page;
    // SQLite reads without waiting. Polls are answered between two pages.
    await setImmediate();
  } while (page.length === HOOKS_PER_PAGE);
}

export interface ConsumerHooks {
  /** Those of this consumer, which are then not in `rest`. */
  take(key: ConsumerKey): ConsumerHook | undefined;
  rest(): ConsumerHook[];
}

/** One query for 200 hooks, not one for each consumer. */
export async function readConsumerHooks(
  hooks: HookStore | undefined,
  query: Omit<HookQuery, 'limit' | 'after'>,
): Promise<ConsumerHooks> {
  const byConsumer = new Map<string, ConsumerHook>();
  for await (const page of hookPages(hooks, query))
    for (const listed of page) {
      const key = consumerKeyText(listed.hook);
      byConsumer.set(key, combine(byConsumer.get(key), toConsumerHook(listed)));
    }
  return {
    take(consumer) {
      const key = consumerKeyText(consumer);
      const found = byConsumer.get(key);
      byConsumer.delete(key);
      return found;
    },
    rest: () => [...byConsumer.values()],
  };
}

function toConsumerHook({ hook, companyId, name }: ListedHook): ConsumerHook {
  const { userId, tokenId, createdAt, announcedThrough, lastEventAt, lastStatus, failures, failingSince } =
    hook;
  const key = { userId, tokenId, companyId, name, createdAt };
  const progress = { announcedThrough, lastEventAt, lastStatus, failures, failingSince };
  return { ...key, ...progress, state: hookStateOf(hook), count: 1 };
}

const SEVERITY: Readonly<Record<HookState, number>> = { active: 0, failing: 1, disabled: 2 };

function combine(known: ConsumerHook | undefined, next: ConsumerHook): ConsumerHook {
  if (!known) return next;
  const isWorse =
    SEVERITY[next.state] - SEVERITY[known.state] ||
    next.failures - known.failures ||
    (next.lastEventAt ?? 0) - (known.lastEventAt ?? 0);
  return { ...(isWorse > 0 ? next : known), count: known.count + 1 };
}

/** What waits for a consumer, whether it has polled or not. */
export type Pending = Pick<Consumer, 'user' | 'pendingLeads' | 'pendingSince'>;

export type LeadReader = Pick<PollQueries, 'findUser' | 'readPage'>;

const LEADS_PER_PAGE = 200;

/** The leads since the subscription, for a consumer that has never polled. Counts at most `maxLeads`. */
export async function readAnnounced(
  store: LeadReader,
  { userId, createdAt }: ConsumerHook,
  maxLeads: number,
): Promise<Pending | undefined> {
  const user = await store.findUser(userId);
  const scope = user && scopeOf(user);
  if (!scope) return undefined;
  let [pendingLeads, since] = [0, createdAt];
  let pendingSince: number | null = null;
  for (;;) {
    const limit = Math.min(LEADS_PER_PAGE, maxLeads - pendingLeads);
    const { leads } = await store.readPage({ scope, since, limit });
    pendingSince ??= leads[0]?.createdAt ?? null;
    pendingLeads += leads.length;
    if (leads.length < limit || pendingLeads >= maxLeads) return { user, pendingLeads, pendingSince };
    since = leads.at(-1)?.createdAt ?? since;
  }
}

/** As every output has it: over HTTP, in `leadtap consumers --json` and in `/status.json`. */
export const toConsumerHookJson = (hook: ConsumerHook | undefined) =>
  hook === undefined
    ? null
    : {
        count: hook.count,
        state: hook.state,
        announcedThrough: toIso(hook.announcedThrough),
        lastEventAt: toIsoOrNull(hook.lastEventAt),
        lastStatus: hook.lastStatus,
        failures: hook.failures,
        failingSince: toIsoOrNull(hook.failingSince),
      };
