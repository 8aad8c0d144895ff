/** What a subscription and a claim store, given what a transaction has read. Pure: the time is a parameter. */
import { createHash } from 'node:crypto';
import {
  type DueHook,
  type Hook,
  isAcceptedKey,
  isExpired,
  type NewHook,
  type SettledHook,
} from './store.ts';

/** Of the token that `hooks add` issues for a hook. It ends with the hook. Who reads it cannot delete the hook. */
export const ownTokenId = (hookId: string): string =>
  createHash('sha256').update(hookId).digest('hex').slice(0, 32);

export const hasOwnToken = ({ id, tokenId }: Pick<Hook, 'id' | 'tokenId'>): boolean =>
  tokenId === ownTokenId(id);

/** A hook with the company of its user, which is stored for an index. */
export interface StoredHook extends Hook {
  readonly companyId: string;
}

/** It is examined at once: a lead may be added between the read of the newest one and the commit. */
const createHook = (
  { since, ...hook }: NewHook,
  { companyId, start }: UserOfHook,
  now: number,
): StoredHook => ({
  ...hook,
  keyId: hook.keyId ?? null,
  connectionId: null,
  name: hook.name ?? null,
  companyId,
  createdAt: now,
  announcedThrough: since ?? start ?? 0,
  announcedSince: since ?? start ?? 0,
  ...{ lastEventAt: null, lastStatus: null },
  ...{ failures: 0, failingSince: null, disabledAt: null },
  ...{ notBefore: now, checkAt: now, remindAt: null },
});

/** Failures are forgotten only if they have disabled the hook, and `notBefore` never: it may be the end of a claim or of a backoff. */
function enableHook(stored: StoredHook, hook: NewHook, now: number): StoredHook {
  const { baseUrl } = hook;
  // The token that a hook has of its own is not issued again.
  const { tokenExpiresAt, keyId = null } = hasOwnToken(hook) ? stored : hook;
  const failures = stored.disabledAt === null ? {} : { failures: 0, failingSince: null, disabledAt: null };
  return {
    ...{ ...stored, ...failures, tokenExpiresAt, keyId, baseUrl },
    name: hook.name ?? stored.name,
    // Always another one, whatever the clock says: `remove` compares it.
    createdAt: Math.max(now, stored.createdAt + 1),
    checkAt: Math.max(now, stored.notBefore),
  };
}

export interface UserOfHook {
  readonly companyId: string;
  /** The newest lead that the user may see, or else the last stamp of the company. Null: it has never had a lead. */
  readonly start: number | null;
}

/** What to store. `hooks` are those of the user whose tokens are not revoked. Undefined: there are too many. */
export function subscribeHook(
  hooks: readonly StoredHook[],
  hook: NewHook,
  user: UserOfHook,
  {
    maxPerUser,
    acceptedKeys,
    now,
  }: {
    readonly maxPerUser: number;
    readonly acceptedKeys: readonly string[] | undefined;
    readonly now: number;
  },
): { readonly kind: 'created' | 'known'; readonly stored: StoredHook } | undefined {
  const active = hooks.filter((other) => !isExpired(other, now) && isAcceptedKey(other.keyId, acceptedKeys));
  const isEqual = ({ url, send }: StoredHook) => url === hook.url && send === hook.send;
  const known = hasOwnToken(hook)
    ? active.find((other) => isEqual(other) && hasOwnToken(other))
    : hooks.find((other) => isEqual(other) && other.tokenId === hook.tokenId);
  if (known) return { kind: 'known', stored: enableHook(known, hook, now) };
  if (active.length >= maxPerUser) return undefined;
  return { kind: 'created', stored: createHook(hook, user, now) };
}

/** A row of the query that a claim begins with. */
export interface ExaminedHook extends StoredHook {
  readonly newest: number | null;
  /** SQLite has 0 and 1. */
  readonly isDue: boolean | number;
  /** The first lead that was announced and not sent to the connection of its token, if it is announced again now. */
  readonly waitingSince: number | null;
  readonly hasPending: boolean | number;
}

/** What a claim stores, and what it returns. The time of the attempt is stored now, so that it is known if it does not end. */
export function claimHooks(
  rows: readonly ExaminedHook[],
  now: number,
  claimMs: number,
): { readonly settled: readonly SettledHook[]; readonly due: readonly DueHook[] } {
  const claimUntil = now + claimMs;
  const settled: SettledHook[] = [];
  const due: DueHook[] = [];
  for (const { companyId, newest, isDue, waitingSince, hasPending, ...found } of rows) {
    const through = Math.max(newest ?? 0, found.announcedThrough);
    // What was announced was sent since.
    const isSent = found.remindAt !== null && found.remindAt <= now && waitingSince === null;
    const remindAt = isSent ? null : found.remindAt;
    const nextCheckAt = remindAt !== null && remindAt > now ? remindAt : null;
    // There is a new lead, and the minute since the failure is not over.
    const isEarly = !isDue && found.notBefore > now && (found.checkAt ?? 0) > found.notBefore;
    const checkAt = isDue ? claimUntil : isEarly ? found.notBefore : nextCheckAt;
    // What could not be announced was deleted, or the user may not see it any more.
    const isNothingLeft = through === found.announcedThrough && !hasPending;
    const isOver = !isDue && found.disabledAt === null && isNothingLeft && nextCheckAt === null;
    const failures = isOver ? { failures: 0, failingSince: null } : {};
    const hook = {
      ...found,
      ...failures,
      remindAt,
      checkAt,
      notBefore: isDue ? claimUntil : found.notBefore,
    };
    // A success is of the last attempt: until there is a response to this one, there is none.
    const attempt = {
      lastEventAt: now,
      ...(found.send === 'lead' && !found.failures && { lastStatus: null }),
    };
    settled.push({ claimed: found, progress: isDue ? { ...hook, ...attempt } : hook });
    if (isDue)
      due.push({ hook, companyId, through, waitingSince, hasPending: Boolean(hasPending), claimedAt: now });
  }
  return { settled, due };
}

export function toHook({ companyId: _, ...hook }: StoredHook): Hook {
  return hook;
}
