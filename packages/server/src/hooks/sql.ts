/** The table `hooks`, as both adapters use it: its columns, its rows, and the expressions that are the same in both databases. */

import { PROFESSIONAL } from '../accounts/records.ts';
import type { Gap } from '../consumers/gaps.ts';
import { positionOf } from '../consumers/store.ts';
import type { ClaimQuery, DueHook, Hook, HookProgress, NewHook, SettledHook } from './store.ts';

/** A hook with the company of its user, which is stored for an index. */
export interface StoredHook extends Hook {
  readonly companyId: string;
}

type ColumnKind = 'text' | 'time' | 'integer';

export interface HookColumn<Field extends string = string> {
  readonly field: Field;
  readonly name: string;
  readonly kind: ColumnKind;
}

const PROGRESS: { readonly [Field in keyof HookProgress]: ColumnKind } = {
  announcedThrough: 'time',
  announcedSince: 'time',
  lastEventAt: 'time',
  lastStatus: 'integer',
  failures: 'integer',
  failingSince: 'time',
  disabledAt: 'time',
  notBefore: 'time',
  checkAt: 'time',
  remindAt: 'time',
};

const FIELDS: { readonly [Field in keyof StoredHook]: ColumnKind } = {
  id: 'text',
  companyId: 'text',
  userId: 'text',
  tokenId: 'text',
  tokenExpiresAt: 'time',
  url: 'text',
  baseUrl: 'text',
  createdAt: 'time',
  ...PROGRESS,
};

const toColumns = <Field extends string>(fields: Readonly<Record<Field, ColumnKind>>): HookColumn<Field>[] =>
  Object.entries<ColumnKind>(fields).map(([field, kind]) => ({
    field: field as Field,
    name: field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    kind,
  }));

export const HOOK_COLUMNS = toColumns(FIELDS);
export const PROGRESS_COLUMNS = toColumns(PROGRESS);

/** It is examined at once: a lead may be added between the read of the newest one and the commit. */
const createHook = (
  { since, ...hook }: NewHook,
  { companyId, newest }: UserOfHook,
  now: number,
): StoredHook => ({
  ...hook,
  companyId,
  createdAt: now,
  announcedThrough: since ?? newest ?? 0,
  ...{ announcedSince: null, lastEventAt: null, lastStatus: null },
  ...{ failures: 0, failingSince: null, disabledAt: null },
  ...{ notBefore: now, checkAt: now, remindAt: null },
});

/** Failures are forgotten only if they have disabled the hook, and `notBefore` never: it may be the end of a claim or of a backoff. */
function enableHook(stored: StoredHook, { tokenExpiresAt, baseUrl }: NewHook, now: number): StoredHook {
  const failures = stored.disabledAt === null ? {} : { failures: 0, failingSince: null, disabledAt: null };
  return {
    ...{ ...stored, ...failures, tokenExpiresAt, baseUrl },
    // Always another one, whatever the clock says: `remove` compares it.
    createdAt: Math.max(now, stored.createdAt + 1),
    checkAt: Math.max(now, stored.notBefore),
  };
}

export interface UserOfHook {
  readonly companyId: string;
  /** Null: there is no lead that the user may see. */
  readonly newest: number | null;
}

/** What to store. `hooks` are those of the user whose tokens are not revoked. Undefined: there are too many. */
export function subscribeHook(
  hooks: readonly StoredHook[],
  hook: NewHook,
  user: UserOfHook,
  { maxPerUser, now }: { readonly maxPerUser: number; readonly now: number },
): { readonly kind: 'created' | 'known'; readonly stored: StoredHook } | undefined {
  const known = hooks.find(({ tokenId, url }) => tokenId === hook.tokenId && url === hook.url);
  if (known) return { kind: 'known', stored: enableHook(known, hook, now) };
  const active = hooks.filter(({ tokenExpiresAt }) => tokenExpiresAt === null || tokenExpiresAt > now);
  if (active.length >= maxPerUser) return undefined;
  return { kind: 'created', stored: createHook(hook, user, now) };
}

/** A row of the query that a claim begins with. */
export interface ExaminedHook extends StoredHook {
  readonly newest: number | null;
  readonly isDue: boolean | number;
  readonly confirmedThrough: number | null;
  readonly deliveredThrough: number | null;
  /** JSON. */
  readonly gaps: string | null;
}

/** Up to where the consumer has polled all that was announced. Null: it is not known. */
function polledThroughOf({
  announcedSince,
  announcedThrough,
  gaps,
  ...positions
}: ExaminedHook): number | null {
  const position = positionOf(positions);
  const skipped: readonly Gap[] = JSON.parse(gaps ?? '[]');
  const starts = skipped
    .filter(
      ({ after, through }) =>
        through > (announcedSince ?? announcedThrough) && (after ?? 0) < announcedThrough,
    )
    .map(({ after }) => after ?? 0);
  return position === null ? null : Math.min(position, ...starts);
}

/** The values of that query. Companies are null for all of them. */
export const examineValues = <List>(
  { companies, limit, except }: ClaimQuery,
  now: number,
  toList: (values: readonly string[]) => List,
): (number | List | null)[] => [
  ...[now, limit, companies === 'all' ? null : toList(companies)],
  ...[except?.hooks ?? [], except?.companies ?? [], except?.retriesOf ?? []].map(toList),
];

/** What a claim stores, and what it returns. The time of the attempt is stored now, so that it is known if it does not end. */
export function claimHooks(
  rows: readonly ExaminedHook[],
  now: number,
  claimMs: number,
): { readonly settled: readonly SettledHook[]; readonly due: readonly DueHook[] } {
  const claimUntil = now + claimMs;
  const settled: SettledHook[] = [];
  const due: DueHook[] = [];
  for (const row of rows) {
    const {
      companyId,
      newest,
      isDue: mayBeDue,
      confirmedThrough: _c,
      deliveredThrough: _d,
      gaps: _g,
      ...found
    } = row;
    const through = Math.max(newest ?? 0, found.announcedThrough);
    const polledThrough = polledThroughOf(row);
    const isDue = mayBeDue && (through > found.announcedThrough || (polledThrough ?? 0) < through);
    // The consumer has skipped other leads than those that were announced.
    const remindAt = mayBeDue && !isDue ? null : found.remindAt;
    const nextCheckAt = remindAt !== null && remindAt > now ? remindAt : null;
    // There is a new lead, and the minute since the failure is not over.
    const isEarly = !isDue && found.notBefore > now && (found.checkAt ?? 0) > found.notBefore;
    const checkAt = isDue ? claimUntil : isEarly ? found.notBefore : nextCheckAt;
    // What could not be announced was deleted, or the user may not see it any more.
    const isOver =
      !isDue && found.disabledAt === null && through === found.announcedThrough && nextCheckAt === null;
    const failures = isOver ? { failures: 0, failingSince: null } : {};
    const hook = {
      ...found,
      ...failures,
      remindAt,
      checkAt,
      notBefore: isDue ? claimUntil : found.notBefore,
    };
    settled.push({ claimed: found, progress: isDue ? { ...hook, lastEventAt: now } : hook });
    if (isDue) due.push({ hook, companyId, through, polledThrough, claimedAt: now });
  }
  return { settled, due };
}

export function toHook({ companyId: _, ...hook }: StoredHook): Hook {
  return hook;
}

/** What differs between the databases. */
export interface Dialect {
  /** The time of the query. */
  readonly now: string;
  readonly minutesLater: (minutes: number) => string;
  readonly schema: '' | 'leadtap.';
  readonly indexedBy: (index: string) => string;
  readonly toMs: (column: string) => string;
  /** Whether a column is in the list that is the value with this number. */
  readonly isIn: (column: string, value: number) => string;
}

/**
 * Expressions for the hook `h` and its user `u`, which may be missing. `isDue` and `isPending` use `plan`, `newest`, `confirmed_through`,
 * `delivered_through` and `gaps` of the query that they are in. Those of a claim use `examineValues`.
 */
export function hookExpressions({ now, minutesLater, schema, indexedBy, toMs, isIn }: Dialect) {
  const newestOf = (index: string, place: string): string => `(
    SELECT l.created_at FROM ${schema}leads AS l ${index && indexedBy(index)} WHERE l.company_id = u.company_id${place}
     ORDER BY l.created_at DESC LIMIT 1)`;
  const isTokenEnded = `(h.token_expires_at IS NOT NULL AND h.token_expires_at <= ${now}
    OR EXISTS (SELECT 1 FROM ${schema}revoked_tokens AS r WHERE r.token_id = h.token_id))`;
  const isEnded = `(${isTokenEnded} OR NOT EXISTS (
    SELECT 1 FROM ${schema}users AS u WHERE u.id = h.user_id AND u.company_id = h.company_id))`;
  /** The clock was ahead at the last attempt and was set back since: the times that follow from it are wrong. */
  const wasAhead = `coalesce(h.last_event_at, h.created_at) > ${minutesLater(1)}`;
  const isFree = `(h.not_before <= ${now} OR ${wasAhead})`;
  /** While it fails: a new lead may be tried earlier than the others, but not yet. */
  const mayWait = `(h.failures > 0 AND NOT ${isFree} AND h.check_at > h.not_before AND ${isIn('h.company_id', 3)})`;
  const isPending = '(newest > h.announced_through) IS TRUE';
  /** Later than any reminder: the clock was set back. */
  const mayRemind = `(h.remind_at <= ${now} OR h.remind_at > ${minutesLater(3)} OR h.remind_at IS NOT NULL AND ${wasAhead})`;
  const hasPolled =
    '(gaps IS NULL AND (confirmed_through >= h.announced_through OR delivered_through >= h.announced_through)) IS TRUE';
  /** While it fails: when its time has come, or with a new lead. */
  const mayRetry = `(h.failures = 0 OR h.check_at IS NULL OR h.check_at <= ${now} OR ${wasAhead} OR ${isIn('h.company_id', 3)})`;
  /** A token without an id is stored as '', because a key has no nulls. */
  const select = ({ name, kind }: HookColumn): string =>
    name === 'token_id' ? `nullif(h.token_id, '')` : kind === 'time' ? toMs(`h.${name}`) : `h.${name}`;
  /** The columns of a `StoredHook`. */
  const selected = HOOK_COLUMNS.map((column) => `${select(column)} AS "${column.field}"`).join(', ');
  return {
    selected,
    /** Those of an `ExaminedHook`, but for `isDue`. */
    examined: `${selected}, ${toMs('newest')} AS "newest", ${toMs('confirmed_through')} AS "confirmedThrough",
      ${toMs('delivered_through')} AS "deliveredThrough", gaps`,
    /** What `prune` deletes, if `now` is its `expiredBefore`. */
    isEnded,
    /** The newest `created_at` that the user may see: the end of a range of one index. Its leads become visible in this order. */
    newest: `CASE u.access_level
      WHEN 'COMPANY' THEN ${newestOf('', '')}
      WHEN 'BRANCH' THEN ${newestOf('leads_by_branch', ' AND l.branch_id = u.branch_id')}
      WHEN 'DEPARTMENT' THEN ${newestOf('leads_by_department', ' AND l.department_id = u.department_id')} END`,
    mayClaim: `(${mayWait} OR ${isFree} AND NOT ${isIn('h.id', 4)} AND NOT ${isIn('h.company_id', 5)}
      AND (h.failures = 0 OR NOT ${isIn('h.company_id', 6)}))`,
    isPending,
    /** Nothing is due, but there is something to store. */
    isChanged: `CASE WHEN ${isFree}
      THEN h.check_at <= ${now} OR h.failures > 0 AND h.disabled_at IS NULL AND h.remind_at IS NULL AND NOT ${isPending}
      ELSE ${isPending} AND newest > h.last_event_at END`,
    isDue: `(${isFree} AND h.disabled_at IS NULL AND plan = '${PROFESSIONAL}' AND NOT ${isTokenEnded} AND ${mayRetry}
      AND (${isPending} OR NOT ${hasPolled} AND ${mayRemind})) IS TRUE`,
    counts: `SELECT count(*) FILTER (WHERE h.disabled_at IS NULL AND h.failures = 0) AS active,
      count(*) FILTER (WHERE h.disabled_at IS NULL AND h.failures > 0) AS failing,
      count(*) FILTER (WHERE h.disabled_at IS NOT NULL) AS disabled FROM ${schema}hooks AS h WHERE NOT ${isEnded}`,
  };
}
