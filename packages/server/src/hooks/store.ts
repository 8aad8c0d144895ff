/**
 * Hooks: webhook subscriptions. A hook is one row with one position, `announcedThrough`. While its user may see a later lead, an event
 * is due: a thin one, or the leads themselves. So nothing is queued: what is lost is sent again because the row says so.
 */
import type { HookSend } from '@leadtap/contract';
import type { TokenKey } from '../accounts/token-key.ts';
import type { PendingLead } from '../connections/store.ts';
import type { PageLead } from '../leads/render.ts';
import { pagesOf } from '../lib/pages.ts';

/** What a subscription says. */
export interface NewHook extends TokenKey {
  /** 128 random bits: a client that knows it may delete the hook without a token. */
  readonly id: string;
  /** Null: the token does not expire. */
  readonly tokenExpiresAt: number | null;
  /** The key that signed the token, or the issuer of the identity provider. Null or absent: it is not known, and counts as accepted. */
  readonly keyId?: string | null;
  /** A secret: who knows it can call the receiver. */
  readonly url: string;
  /** What people call it. Null or absent: a hook that is known keeps its name, a new one has none. */
  readonly name?: string | null;
  /** `event`: that there are leads. `lead`: each lead. */
  readonly send: HookSend;
  /** The `{base_url}` that the subscription was sent to. */
  readonly baseUrl: string;
  /** Leads after it are announced. Undefined: after the newest one that the user may see, or else all that the company has now. */
  readonly since: number | undefined;
}

/** What the attempts to send events have changed. Its times are those of the database: the clocks of two instances may differ. */
export interface HookProgress {
  /** Leads up to here were announced, or sent: a receiver has accepted an event for them, or the leads. */
  readonly announcedThrough: number;
  /** Where the subscription started. Of one that sends events: leads up to here are not announced again. */
  readonly announcedSince: number | null;
  /** Of the last attempt: of its result, or of its claim until then. */
  readonly lastEventAt: number | null;
  /** The HTTP status of the last attempt. Null: there was none, or it had no response. */
  readonly lastStatus: number | null;
  /** Failed attempts since the last accepted event. */
  readonly failures: number;
  /** Of the first of them. */
  readonly failingSince: number | null;
  readonly disabledAt: number | null;
  /** No event is sent before: it is the end of a claim or of the pause between two events. While it fails, a new lead may be tried then. */
  readonly notBefore: number;
  /** The hook is examined at this time, also without new leads. Null: only new leads make an event due. */
  readonly checkAt: number | null;
  /** If leads that were announced still wait for the connection of its token by then, they are announced again. */
  readonly remindAt: number | null;
}

export interface Hook extends Omit<NewHook, 'since'>, HookProgress {
  readonly keyId: string | null;
  /** Of a hook that sends leads. */
  readonly connectionId: string | null;
  /** Null: it has none of its own. */
  readonly name: string | null;
  /** Of the last subscription with this token, URL and `send`. */
  readonly createdAt: number;
}

/** A hook for which an event is due, claimed by this process until `notBefore`. */
export interface DueHook {
  /** As it was before the claim, but for `notBefore` and `checkAt`: both are the end of the claim. */
  readonly hook: Hook;
  readonly companyId: string;
  /** The newest `createdAt` that the user may see. Equal to `announcedThrough`: a reminder is due. */
  readonly through: number;
  /** The first lead that was announced and not sent to the connection of its token, if it is announced again now. */
  readonly waitingSince: number | null;
  /** Leads are sent to it beside the new ones. */
  readonly hasPending: boolean;
  readonly claimedAt: number;
}

export interface SettledHook {
  readonly claimed: Hook;
  readonly progress: HookProgress;
  /** Of a hook that sends leads: those that its receiver has accepted since the last call. */
  readonly accepted?: {
    readonly companyId: string;
    readonly createdAt: readonly number[];
    /** Those of them that were sent beside the new ones. */
    readonly pending?: readonly PendingLead[];
  };
}

export interface ClaimQuery {
  /** A process that is killed holds its claims no longer. */
  readonly claimMs: number;
  /** Hooks of these companies are examined, beside those whose `checkAt` has come. `all`: every hook. */
  readonly companies: readonly string[] | 'all';
  /** These hooks, all hooks of these companies, and those of these companies whose last event has failed. */
  readonly except?:
    | {
        readonly hooks: readonly string[];
        readonly companies: readonly string[];
        readonly retriesOf: readonly string[];
      }
    | undefined;
  readonly limit: number;
  /** Hooks of tokens of other keys are not claimed. Default: all are accepted. */
  readonly acceptedKeys?: readonly string[] | undefined;
}

/** A hook in a list, for operators. */
export interface ListedHook {
  readonly hook: Hook;
  readonly companyId: string;
  /** The name of its token, if that was issued here. */
  readonly tokenName: string | null;
  /** Whether the user may see a lead after `announcedThrough`. */
  readonly isPending: boolean;
  /** Its token is not accepted any more, so nothing is sent. */
  readonly isKeyRemoved: boolean;
}

/** For logs and lists: the rest of the URL is a secret. Other programs may have stored a text that is no URL. */
export const hostOfHook = ({ url }: Pick<Hook, 'url'>): string =>
  URL.canParse(url) ? new URL(url).host : 'invalid URL';

/** What people call it: its own name, or else that of its token. */
export const nameOfHook = ({ hook, tokenName }: Pick<ListedHook, 'hook' | 'tokenName'>): string | null =>
  hook.name ?? tokenName;

/** A hook is `failing` if its last attempt has failed. */
export type HookState = 'active' | 'failing' | 'disabled';

export function hookStateOf({ disabledAt, failures }: Pick<Hook, 'disabledAt' | 'failures'>): HookState {
  if (disabledAt !== null) return 'disabled';
  return failures > 0 ? 'failing' : 'active';
}

/** `expired`: its token has. Only hooks that send leads are listed then. `key-removed`: the key that signed its token was removed. */
export type ListedHookState = HookState | 'expired' | 'key-removed';

export const isExpired = ({ tokenExpiresAt }: Pick<Hook, 'tokenExpiresAt'>, now: number): boolean =>
  tokenExpiresAt !== null && tokenExpiresAt <= now;

export function listedStateOf(
  { hook, isKeyRemoved }: Pick<ListedHook, 'hook' | 'isKeyRemoved'>,
  now: number,
): ListedHookState {
  if (isExpired(hook, now)) return 'expired';
  return isKeyRemoved ? 'key-removed' : hookStateOf(hook);
}

export const isAcceptedKey = (keyId: string | null, acceptedKeys: readonly string[] | undefined): boolean =>
  keyId === null || acceptedKeys === undefined || acceptedKeys.includes(keyId);

export interface HookQuery {
  /** Decides which tokens have expired. */
  readonly now: number;
  readonly companyId?: string | undefined;
  readonly userId?: string | undefined;
  /** The id of the last hook of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
  /** Decides `isKeyRemoved`. Default: all keys are accepted. */
  readonly acceptedKeys?: readonly string[] | undefined;
}

/** Each method reads the clock of the database, as the stamps of leads do. */
export interface HookStore {
  now(): Promise<number>;
  /**
   * Adds the hook, or returns the one that the same token (user and token id) has for this URL and `send`: `tokenExpiresAt` and `baseUrl` as given
   * now, the name if one is given, another `createdAt`, its position unchanged, enabled again without failures if it was disabled, and examined at `notBefore`. A
   * backoff stays. A hook with a token of its own is the one with such a token that the user has for this URL and `send`, and keeps its
   * `tokenExpiresAt`. Hooks of ended tokens and of other keys do not count. Serialised by user, so that `maxPerUser` holds.
   */
  subscribe(
    hook: NewHook,
    maxPerUser: number,
    acceptedKeys?: readonly string[],
  ): Promise<
    | { readonly kind: 'created' | 'known'; readonly hook: Hook }
    | { readonly kind: 'too-many' }
    /** The user was removed meanwhile. */
    | { readonly kind: 'no-such-user' }
  >;
  find(id: string): Promise<Hook | undefined>;
  /** False if there is none. */
  rename(id: string, name: string): Promise<boolean>;
  /**
   * False if there is none. With `createdAt`: only if it was not subscribed again since. The connection of a hook that sends leads ends
   * with its last hook. `endedBy`: default `removed`.
   */
  remove(id: string, createdAt?: number, endedBy?: 'removed' | 'deleted'): Promise<boolean>;
  /**
   * Sorted by id, without those of ended tokens and removed users. One that sends leads is listed if its token has expired, unless a
   * hook of a later token continues at its position or before.
   */
  list(query: HookQuery): Promise<readonly ListedHook[]>;
  /**
   * Claims hooks for which an event is due: not disabled, `notBefore` has come, the user exists and has the plan, the token works; and
   * the user may see a lead after `announcedThrough`, or `remindAt` has come and leads that were announced wait for the connection of
   * its token. Hooks with failures are due when `checkAt` has come, or if their company is one of those given. Two processes
   * never claim the same hook. Hooks with failures whose `notBefore` has not come are examined then if a lead of their company came after
   * the last attempt. Hooks whose `checkAt` has come without anything due are next examined at their `remindAt`, if that is later than
   * now. Failures of a hook for which there is nothing to announce any more are forgotten. If the last attempt is more than a minute in
   * the future, the clock was set back, and all these times count as past; so does a `remindAt` more than 6 hours in the future. Writes
   * no entry to the change log.
   */
  claim(query: ClaimQuery): Promise<readonly DueHook[]>;
  /**
   * The first lead after this time that the user of a claimed hook may see now. Hook, token, user and lead are read in one snapshot.
   * Undefined also if the claim has ended, the hook was deleted, the token does not work any more, or the user may not poll.
   */
  readLead(claimed: Hook, after: number): Promise<PageLead | undefined>;
  /**
   * The oldest leads that are sent to a claimed hook beside the new ones. Those that its user may not see any more, and those that are new
   * to it anyhow, are deleted. None if the claim has ended, as for `readLead`.
   */
  takePending(claimed: Hook): Promise<readonly PendingLead[]>;
  /**
   * Stores the progress of claimed hooks, with what was sent to their connections. Their claims end, unless `notBefore` says that they go on. A claim that has ended meanwhile
   * stores nothing, and neither does one that would disable a hook that was subscribed again meanwhile. Returns how many it has stored.
   */
  settle(settled: readonly SettledHook[]): Promise<number>;
  /**
   * Deletes hooks of revoked tokens, of removed users, and of tokens that have expired by the given time. Returns their number. A user
   * who was added again to another company is another user: `createdAt` of two companies cannot be compared.
   */
  prune(expiredBefore: number): Promise<number>;
  /** Whether there is any hook. Cheap: a service without hooks asks every 2 seconds. */
  hasHooks(): Promise<boolean>;
}

/** The hooks as a process uses them that accepts these keys alone. */
export const withAcceptedKeys = (hooks: HookStore, acceptedKeys: readonly string[]): HookStore =>
  Object.assign<HookStore, Partial<HookStore>>(Object.create(hooks), {
    subscribe: (hook, maxPerUser) => hooks.subscribe(hook, maxPerUser, acceptedKeys),
    list: (query) => hooks.list({ ...query, acceptedKeys }),
    claim: (query) => hooks.claim({ ...query, acceptedKeys }),
  });

/** SQLite answers no poll while it reads a page: some milliseconds. */
const HOOKS_PER_PAGE = 200;

/** All hooks, or those of a company or a user, page by page. */
export const hookPages = (
  hooks: HookStore,
  query: Omit<HookQuery, 'limit' | 'after'>,
): AsyncGenerator<readonly ListedHook[]> =>
  pagesOf(
    HOOKS_PER_PAGE,
    (last, limit) => hooks.list({ ...query, after: last?.hook.id, limit }),
    query.companyId ?? query.userId,
  );
