/**
 * Hooks: webhook subscriptions with thin events. A hook is one row with one position, `announcedThrough`. While its user may see a
 * later lead, an event is due. So no event is stored: a lost one is sent again because the row says so.
 */
import type { ConsumerKey } from './consumers.ts';

/** What a subscription says. */
export interface NewHook extends ConsumerKey {
  /** 128 random bits: a client that knows it may delete the hook without a token. */
  readonly id: string;
  /** Null: the token does not expire. */
  readonly tokenExpiresAt: number | null;
  /** A secret: who knows it can call the receiver. */
  readonly url: string;
  /** The `{base_url}` that the subscription was sent to. */
  readonly baseUrl: string;
  /** Leads after it are announced. Undefined: after the last stamp of the company of the user. */
  readonly since: number | undefined;
  /** Of the last subscription with this token and URL. */
  readonly createdAt: number;
}

/** What the attempts to send events have changed. */
export interface HookProgress {
  /** Leads up to here were announced: a receiver has accepted an event for them. */
  readonly announcedThrough: number;
  /** The `since` of the last accepted event, whose `through` is `announcedThrough`. Null: there was none. */
  readonly announcedSince: number | null;
  /** Of the last attempt. */
  readonly lastEventAt: number | null;
  /** The HTTP status of the last attempt. Null: there was none, or it had no response. */
  readonly lastStatus: number | null;
  /** Failed attempts since the last accepted event. */
  readonly failures: number;
  /** Of the first of them. */
  readonly failingSince: number | null;
  readonly disabledAt: number | null;
  /** No event is sent before: it is the end of a claim, of a backoff, or of the pause between two events. */
  readonly notBefore: number;
  /** The hook is examined at this time, also without new leads. Null: only new leads make an event due. */
  readonly checkAt: number | null;
  /** If the consumer has not polled past `announcedThrough` by then, the last event is repeated once. */
  readonly remindAt: number | null;
}

export interface Hook extends Omit<NewHook, 'since'>, HookProgress {}

/** A hook for which an event is due, claimed by this process until `notBefore`. */
export interface DueHook {
  readonly hook: Hook;
  readonly companyId: string;
  /** The newest `createdAt` that the user may see. Equal to `announcedThrough`: the last event is to be repeated. */
  readonly through: number;
}

export interface ClaimQuery {
  readonly now: number;
  /** The end of the claim: the hook's `notBefore` and `checkAt`. A process that is killed holds its claims no longer. */
  readonly claimUntil: number;
  /** Hooks of these companies are examined, beside those whose `checkAt` has come. `all`: every hook. */
  readonly companies: readonly string[] | 'all';
  readonly limit: number;
}

/** A hook in a list, for operators. */
export interface ListedHook {
  readonly hook: Hook;
  readonly companyId: string;
  /** Of the token, if it was issued here. */
  readonly name: string | null;
  /** Whether the user may see a lead after `announcedThrough`. */
  readonly isPending: boolean;
}

/** A hook is `failing` if its last attempt has failed. */
export type HookState = 'active' | 'failing' | 'disabled';

export function hookStateOf({ disabledAt, failures }: Pick<Hook, 'disabledAt' | 'failures'>): HookState {
  if (disabledAt !== null) return 'disabled';
  return failures > 0 ? 'failing' : 'active';
}

export type HookCounts = Readonly<Record<HookState, number>>;

export interface HookQuery {
  /** Hooks whose token has expired by this time are left out. */
  readonly now: number;
  readonly companyId?: string | undefined;
  readonly userId?: string | undefined;
  /** The id of the last hook of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface HookStore {
  /**
   * Adds the hook, or returns the one that the same token (user and token id) has for this URL, enabled again: no failures, examined at
   * once, `tokenExpiresAt`, `baseUrl` and `createdAt` as given now, its position unchanged. Deletes the ended hooks of the user first, as `prune`
   * does. Serialised by user, so that `maxPerUser` holds.
   */
  subscribe(
    hook: NewHook,
    maxPerUser: number,
  ): Promise<
    | { readonly kind: 'created' | 'known'; readonly hook: Hook }
    | { readonly kind: 'too-many' }
    /** The user was removed meanwhile. */
    | { readonly kind: 'no-such-user' }
  >;
  find(id: string): Promise<Hook | undefined>;
  /** False if there is none. With `createdAt`: only if it was not subscribed again since. */
  remove(id: string, createdAt?: number): Promise<boolean>;
  /** Sorted by id, without what `prune` deletes. */
  list(query: HookQuery): Promise<readonly ListedHook[]>;
  /**
   * Claims hooks for which an event is due: not disabled, `notBefore` has come, the user exists and has the plan, the token works; and
   * the user may see a lead after `announcedThrough`, or `remindAt` has come and neither position of the consumer has reached
   * `announcedThrough`. Two processes never claim the same hook. Hooks whose `checkAt` has come without anything due are next
   * examined at their `remindAt`, if that is later than now. A `notBefore` without failures that is more than a minute away counts as
   * past: the clock was set back. Writes no entry to the change log.
   */
  claim(query: ClaimQuery): Promise<readonly DueHook[]>;
  /** Stores the progress of claimed hooks and ends their claims. A claim that has ended meanwhile stores nothing. */
  settle(settled: readonly { readonly claimed: Hook; readonly progress: HookProgress }[]): Promise<void>;
  /**
   * Deletes hooks of revoked and expired tokens and of removed users. Returns their number. A user who was added again to another
   * company is another user: `createdAt` of two companies cannot be compared.
   */
  prune(now: number): Promise<number>;
  /** Whether there is any hook. Cheap: a service without hooks asks once a minute. */
  hasHooks(): Promise<boolean>;
  countByState(): Promise<HookCounts>;
}
