/** The table `hooks`, as both adapters use it: its columns, its rows, and the expressions that are the same in both databases. */
import type { Hook, HookProgress, NewHook } from './hooks.ts';
import { PROFESSIONAL } from './records.ts';

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

/** It is examined at once: a lead may be added between the read of the last stamp and the commit. */
const createHook = ({ since, ...hook }: NewHook, companyId: string, lastStamp: number): StoredHook => ({
  ...hook,
  companyId,
  announcedThrough: since ?? lastStamp,
  ...{ announcedSince: null, lastEventAt: null, lastStatus: null },
  ...{ failures: 0, failingSince: null, disabledAt: null },
  ...{ notBefore: hook.createdAt, checkAt: hook.createdAt, remindAt: null },
});

/** Without failures, `notBefore` may be the end of a claim or of a pause, and stays. With failures it is a backoff. */
function enableHook(stored: StoredHook, { tokenExpiresAt, baseUrl, createdAt: now }: NewHook): StoredHook {
  const hasFailed = stored.failures > 0 || stored.disabledAt !== null;
  const notBefore = hasFailed ? now : stored.notBefore;
  const checkAt = Math.max(now, notBefore);
  // Always another one, whatever the clock says: `remove` compares it.
  const createdAt = Math.max(now, stored.createdAt + 1);
  const progress = { failures: 0, failingSince: null, disabledAt: null, notBefore, checkAt };
  return { ...stored, tokenExpiresAt, baseUrl, createdAt, ...progress };
}

export interface UserOfHook {
  readonly companyId: string;
  /** Of the company. */
  readonly lastStamp: number;
}

/** What to store. `hooks` are those of the user that have not ended. Undefined: there are too many. */
export function subscribeHook(
  hooks: readonly StoredHook[],
  hook: NewHook,
  { companyId, lastStamp }: UserOfHook,
  maxPerUser: number,
): { readonly kind: 'created' | 'known'; readonly stored: StoredHook } | undefined {
  const known = hooks.find(({ tokenId, url }) => tokenId === hook.tokenId && url === hook.url);
  if (known) return { kind: 'known', stored: enableHook(known, hook) };
  if (hooks.length >= maxPerUser) return undefined;
  return { kind: 'created', stored: createHook(hook, companyId, lastStamp) };
}

export function toHook({ companyId: _, ...hook }: StoredHook): Hook {
  return hook;
}

/** What differs between the databases. */
export interface Dialect {
  /** The time of the query. */
  readonly now: string;
  /** One minute later. */
  readonly nextMinute: string;
  readonly schema: '' | 'leadtap.';
  readonly indexedBy: (index: string) => string;
  readonly toMs: (column: string) => string;
}

/**
 * Expressions for the hook `h` and its user `u`, which may be missing. `isDue` and `isPending` use `plan` and `newest` of the query that
 * they are in.
 */
export function hookExpressions({ now, nextMinute, schema, indexedBy, toMs }: Dialect) {
  const newestOf = (index: string, place: string): string => `(
    SELECT l.created_at FROM ${schema}leads AS l ${index && indexedBy(index)} WHERE l.company_id = u.company_id${place}
     ORDER BY l.created_at DESC LIMIT 1)`;
  const isTokenEnded = `(h.token_expires_at IS NOT NULL AND h.token_expires_at <= ${now}
    OR EXISTS (SELECT 1 FROM ${schema}revoked_tokens AS r WHERE r.token_id = h.token_id))`;
  const hasPolled = `EXISTS (SELECT 1 FROM ${schema}consumers AS c WHERE c.user_id = h.user_id AND c.token_id = h.token_id
    AND (c.confirmed_through >= h.announced_through OR c.delivered_through >= h.announced_through))`;
  /** A token without an id is stored as '', because a key has no nulls. */
  const select = ({ name, kind }: HookColumn): string =>
    name === 'token_id' ? `nullif(h.token_id, '')` : kind === 'time' ? toMs(`h.${name}`) : `h.${name}`;
  return {
    /** The columns of a `StoredHook`. */
    selected: HOOK_COLUMNS.map((column) => `${select(column)} AS "${column.field}"`).join(', '),
    /** What `prune` deletes. */
    isEnded: `(${isTokenEnded} OR NOT EXISTS (
      SELECT 1 FROM ${schema}users AS u WHERE u.id = h.user_id AND u.company_id = h.company_id))`,
    /** The newest `created_at` that the user may see: the end of a range of one index. Its leads become visible in this order. */
    newest: `CASE u.access_level
      WHEN 'COMPANY' THEN ${newestOf('', '')}
      WHEN 'BRANCH' THEN ${newestOf('leads_by_branch', ' AND l.branch_id = u.branch_id')}
      WHEN 'DEPARTMENT' THEN ${newestOf('leads_by_department', ' AND l.department_id = u.department_id')} END`,
    /** Without failures, `not_before` is at most some seconds away, unless the clock was ahead when it was stored. */
    isFree: `(h.not_before <= ${now} OR h.failures = 0 AND h.not_before > ${nextMinute})`,
    isPending: '(newest > h.announced_through) IS TRUE',
    isDue: `(h.disabled_at IS NULL AND plan = '${PROFESSIONAL}' AND NOT ${isTokenEnded}
      AND (newest > h.announced_through OR h.remind_at <= ${now} AND NOT ${hasPolled})) IS TRUE`,
    counts: `SELECT count(*) FILTER (WHERE disabled_at IS NULL AND failures = 0) AS active,
      count(*) FILTER (WHERE disabled_at IS NULL AND failures > 0) AS failing,
      count(*) FILTER (WHERE disabled_at IS NOT NULL) AS disabled FROM ${schema}hooks`,
  };
}
