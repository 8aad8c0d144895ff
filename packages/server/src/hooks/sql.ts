/** Webhook subscriptions in a database. */

import { PROFESSIONAL } from '../accounts/records.ts';
import type { PendingLead } from '../connections/store.ts';
import {
  connectWebhook,
  endUnusedWebhooks,
  HAS_PENDING,
  IS_PAUSED,
  lockWebhookOf,
  lockWebhooks,
  lockWebhooksOfUser,
  prepareWebhooks,
  recordPushed,
  renameWebhook,
} from '../connections/webhooks-sql.ts';
import { selectVisibleLeads } from '../leads/access.ts';
import type { LeadRecord } from '../leads/record.ts';
import type { StoredLeadRow } from '../leads/row.ts';
import { joinNames, STORED_COLUMNS } from '../leads/sql.ts';
import {
  assignFields,
  type Dialect,
  isStorable,
  putSql,
  query,
  readNow,
  type SqlDatabase,
  type SqlTask,
  type SqlValue,
  selectFields,
  type Table,
  type TaskOptions,
} from '../sql/sql.ts';
import {
  claimHooks,
  type ExaminedHook,
  hasOwnToken,
  type StoredHook,
  subscribeHook,
  toHook,
  type UserOfHook,
} from './claim.ts';
import {
  type HookProgress,
  type HookStore,
  hostOfHook,
  isAcceptedKey,
  type ListedHook,
  type SettledHook,
} from './store.ts';

const PROGRESS: Table<HookProgress>['types'] = {
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

export const HOOKS: Table<StoredHook> = {
  name: 'hooks',
  key: ['id'],
  types: {
    id: 'text',
    companyId: 'text',
    userId: 'text',
    tokenId: 'nullAsEmpty',
    tokenExpiresAt: 'time',
    keyId: 'text',
    connectionId: 'text',
    url: 'text',
    send: 'text',
    name: 'text',
    baseUrl: 'text',
    createdAt: 'time',
    ...PROGRESS,
  },
};

/** Of one claim. */
const MAX_PENDING = 50;

/** What a hook must still have when the result of its claim is stored. */
const CLAIM = { id: 'text', claimedUntil: 'time', createdAt: 'time' } as const;

const SELECTED = selectFields(HOOKS.types, 'h');

/** The first value of a statement that asks what has ended or is due. */
const NOW = 'leadtap.from_ms($1)';
const minutesLater = (minutes: number): string => `leadtap.from_ms(CAST($1 AS bigint) + ${minutes * 60_000})`;

const isExpired = (now: string) => `(h.token_expires_at IS NOT NULL AND h.token_expires_at <= ${now})`;
const IS_EXPIRED = isExpired(NOW);
const IS_REVOKED = 'EXISTS (SELECT 1 FROM leadtap.revoked_tokens AS r WHERE r.token_id = h.token_id)';
const isTokenEnded = (now: string) => `(${isExpired(now)} OR ${IS_REVOKED})`;
const IS_TOKEN_ENDED = isTokenEnded(NOW);
const HAS_USER =
  'EXISTS (SELECT 1 FROM leadtap.users AS u WHERE u.id = h.user_id AND u.company_id = h.company_id)';
/** What `prune` deletes, if `now` is its `expiredBefore`. */
const IS_ENDED = `(${IS_TOKEN_ENDED} OR NOT ${HAS_USER})`;
/**
 * Leads wait for a hook that sends leads also when its token has expired: no person has decided that it ends. Unless a later subscription
 * of the same URL has begun no later than where it ended.
 */
const IS_LISTED = `(NOT ${IS_REVOKED} AND ${HAS_USER} AND (NOT ${IS_EXPIRED}
  OR h.send = 'lead' AND NOT EXISTS (
    SELECT 1 FROM leadtap.hooks AS o
     WHERE o.user_id = h.user_id AND o.url = h.url AND o.send = h.send AND o.announced_since <= h.announced_through
       AND (o.token_expires_at IS NULL OR o.token_expires_at > h.token_expires_at))))`;

/** The newest `created_at` that the user `u` may see, who may be missing. Its leads become visible in this order. */
const newestOf = (dialect: Dialect): string =>
  selectVisibleLeads(
    dialect,
    'u',
    (leads) => `SELECT l.created_at FROM ${leads} ORDER BY l.created_at DESC LIMIT 1`,
  );
const IS_PENDING = '(newest > h.announced_through) IS TRUE';

/** The value of the parameter that accepts all of them. */
const ALL_KEYS = [''];
const hasAcceptedKey = ({ isIn }: Dialect, parameter: string): string =>
  `(h.key_id IS NULL OR ${isIn('h.key_id', parameter)} OR ${isIn("''", parameter)})`;

/**
 * Hooks that are due come first, the longest waiting of them before others. The values: now, limit, the companies that are examined,
 * those that are not: hooks, companies, companies whose retries are not, and the accepted keys. SKIP LOCKED: another instance has the hook.
 */
function claimSql(dialect: Dialect, isOfAll: boolean): string {
  const { isIn, indexedBy } = dialect;
  const isOfCompanies = isIn('h.company_id', '$3');
  /** The clock was ahead at the last attempt and was set back since: the times that follow from it are wrong. */
  const wasAhead = `coalesce(h.last_event_at, h.created_at) > ${minutesLater(1)}`;
  const isFree = `(h.not_before <= ${NOW} OR ${wasAhead})`;
  /** While it fails: a new lead may be tried earlier than the others, but not yet. */
  const mayWait = `(h.failures > 0 AND NOT ${isFree} AND h.check_at > h.not_before AND ${isOfCompanies})`;
  const mayClaim = `(${mayWait} OR ${isFree} AND NOT ${isIn('h.id', '$4')} AND NOT ${isIn('h.company_id', '$5')}
    AND (h.failures = 0 OR NOT ${isIn('h.company_id', '$6')}) AND ${hasAcceptedKey(dialect, '$7')})`;
  /** Later than any reminder: the clock was set back. */
  const mayRemind = `(h.remind_at <= ${NOW} OR h.remind_at > ${minutesLater(361)} OR h.remind_at IS NOT NULL AND ${wasAhead})`;
  /** Sent or asked past: it does not wait. */
  const position = 'CASE WHEN c.position > h.announced_since THEN c.position ELSE h.announced_since END';
  const waitingSince = `CASE WHEN ${mayRemind} THEN ${selectVisibleLeads(
    dialect,
    'u',
    (
      leads,
    ) => `SELECT l.created_at FROM ${leads} AND l.created_at > ${position} AND l.created_at <= h.announced_through
      AND l.created_at = l.automation_created_at
      AND NOT EXISTS (SELECT 1 FROM leadtap.deliveries AS d WHERE d.created_at = l.created_at AND d.connection = c.id)
      ORDER BY l.created_at LIMIT 1`,
  )} END`;
  /** While it fails: when its time has come, or with a new lead. */
  const mayRetry = `(h.failures = 0 OR h.check_at IS NULL OR h.check_at <= ${NOW} OR ${wasAhead} OR ${isOfCompanies})`;
  const isDue = `(${isFree} AND h.disabled_at IS NULL AND plan = '${PROFESSIONAL}' AND NOT ${IS_TOKEN_ENDED} AND ${mayRetry}
    AND NOT is_paused AND (${IS_PENDING} OR has_pending OR waiting_since IS NOT NULL)) IS TRUE`;
  /** Nothing is due, but there is something to store. */
  const isChanged = `CASE WHEN ${isFree}
    THEN h.check_at <= ${NOW} OR h.failures > 0 AND h.disabled_at IS NULL AND h.remind_at IS NULL AND NOT (${IS_PENDING} OR has_pending)
    ELSE ${IS_PENDING} AND newest > h.last_event_at END`;
  const some = `(
    SELECT id FROM leadtap.hooks WHERE ${isIn('company_id', '$3')}
     UNION SELECT id FROM leadtap.hooks ${indexedBy('hooks_by_check')} WHERE check_at <= ${NOW}) AS k
      JOIN leadtap.hooks AS h ON h.id = k.id`;
  return `
    WITH examined AS MATERIALIZED (
      SELECT h.id, u.plan, ${waitingSince} AS waiting_since, ${newestOf(dialect)} AS newest,
             ${HAS_PENDING} AS has_pending, ${IS_PAUSED} AS is_paused
        FROM ${isOfAll ? 'leadtap.hooks AS h' : some}
        LEFT JOIN leadtap.users AS u ON u.id = h.user_id AND u.company_id = h.company_id
        LEFT JOIN leadtap.issued_tokens AS t ON t.id = h.token_id AND t.user_id = h.user_id
        LEFT JOIN leadtap.connections AS c
          ON c.user_id = h.user_id AND c.kind = 'poll' AND c.key = coalesce('n:' || t.name, 't:' || h.token_id)
       WHERE ${mayClaim})
    SELECT ${SELECTED}, leadtap.to_ms(newest) AS newest,
           leadtap.to_ms(waiting_since) AS "waitingSince", has_pending AS "hasPending", ${isDue} AS "isDue"
      FROM examined AS e JOIN leadtap.hooks AS h ON h.id = e.id
     WHERE ${isDue} OR ${isChanged}
     ORDER BY "isDue" DESC, h.not_before, h.id LIMIT $2
       FOR UPDATE OF h SKIP LOCKED`;
}

/** A claimed hook `h` and its user `u`, who may read leads now. The values: the hook, and the end of its claim. */
export const claimedHookSql = (now: string): string => `
  leadtap.hooks AS h JOIN leadtap.users AS u ON u.id = h.user_id AND u.company_id = h.company_id
 WHERE h.id = $1 AND h.not_before = leadtap.from_ms($2) AND u.plan = '${PROFESSIONAL}' AND NOT ${isTokenEnded(now)}
   AND NOT ${IS_PAUSED}`;

/** The leads that are sent to a claimed hook beside the new ones. The third value is now. */
const PENDING = `
  SELECT k.connection_id, p.created_at, p.message, p.created_at <= k.announced_through AND EXISTS (
           SELECT 1 FROM leadtap.leads AS l WHERE l.company_id = k.company_id AND l.created_at = p.created_at AND (k.access_level = 'COMPANY'
             OR k.access_level = 'BRANCH' AND l.branch_id = k.branch_id OR k.access_level = 'DEPARTMENT' AND l.department_id = k.department_id)
         ) AS is_sent
    FROM (SELECT h.connection_id, h.announced_through, u.company_id, u.access_level, u.branch_id, u.department_id
            FROM ${claimedHookSql('leadtap.from_ms($3)')}) AS k
    JOIN leadtap.pending_leads AS p ON p.connection = k.connection_id`;
const DROP_PENDING = `
  DELETE FROM leadtap.pending_leads WHERE (connection, created_at) IN (
    SELECT q.connection_id, q.created_at FROM (${PENDING}) AS q WHERE NOT q.is_sent)`;
const LIST_PENDING = `
  SELECT leadtap.to_ms(q.created_at) AS "createdAt", q.message FROM (${PENDING}) AS q ORDER BY q.created_at LIMIT ${MAX_PENDING}`;

/** The third value is the time after which the lead was created, the fourth is now. */
function leadSql(dialect: Dialect): string {
  const key = selectVisibleLeads(
    dialect,
    'u',
    (leads) =>
      `SELECT l.created_at FROM ${leads} AND l.created_at > leadtap.from_ms($3) ORDER BY l.created_at LIMIT 1`,
  );
  return `
    SELECT ${STORED_COLUMNS}
      FROM (SELECT u.company_id, ${key} AS created_at FROM ${claimedHookSql('leadtap.from_ms($4)')}) AS k
      ${dialect.joinEach('leads', 'l', 'l.company_id = k.company_id AND l.created_at = k.created_at')}
      ${dialect.joinEach('companies', 'c', 'c.id = l.company_id')} ${joinNames(dialect)}`;
}

const RETURN_ENDED = 'RETURNING connection_id';

interface DeletedHook {
  readonly connection_id: string | null;
}

const CONNECTION_OF = 'SELECT h.connection_id AS id FROM leadtap.hooks AS h WHERE h.id = $1';

/** Rows are locked in the order of their ids, so that two processes cannot deadlock. */
const pruneSql = (condition: string): string => `
  DELETE FROM leadtap.hooks WHERE id IN (
    SELECT h.id FROM leadtap.hooks AS h WHERE ${condition} AND ${IS_ENDED} ORDER BY h.id FOR UPDATE) ${RETURN_ENDED}`;
const PRUNE = pruneSql('true');
const PRUNE_OF_USER = pruneSql('h.user_id = $2');

const FIND = `SELECT ${SELECTED} FROM leadtap.hooks AS h WHERE h.id = $1`;
const RENAME = 'UPDATE leadtap.hooks SET name = $2 WHERE id = $1 RETURNING 1';
const FIND_OF_USER = `SELECT ${SELECTED} FROM leadtap.hooks AS h WHERE h.user_id = $1 ORDER BY h.id FOR UPDATE`;
const REMOVE = `
  DELETE FROM leadtap.hooks WHERE id = $1 AND created_at = coalesce(leadtap.from_ms($2), created_at) ${RETURN_ENDED}`;

const prepareSql = (dialect: Dialect) => ({
  webhooks: prepareWebhooks(dialect),
  put: putSql(dialect, HOOKS),
  claimOfAll: claimSql(dialect, true),
  claim: claimSql(dialect, false),
  lead: leadSql(dialect),
  /** Until the transaction ends, no other one adds hooks of this user. A statement of its own: the next ones see what it has waited for. */
  lockUser: `
    SELECT u.company_id AS "companyId",
           leadtap.to_ms(coalesce(${newestOf(dialect)}, ${dialect.lastStampOf('u.company_id')})) AS start
      FROM leadtap.users AS u WHERE u.id = $1 FOR NO KEY UPDATE`,
  /** The values: now, limit, the last id of the page before, company, user. */
  list: `
    SELECT ${SELECTED}, h.token_name AS "tokenName", ${IS_PENDING} AS "isPending"
      FROM (SELECT h.*, t.name AS token_name, ${newestOf(dialect)} AS newest
              FROM leadtap.hooks AS h
              LEFT JOIN leadtap.issued_tokens AS t ON t.id = h.token_id
              LEFT JOIN leadtap.users AS u ON u.id = h.user_id
             WHERE h.id > $3 AND (CAST($4 AS text) IS NULL OR h.company_id = $4)
               AND (CAST($5 AS text) IS NULL OR h.user_id = $5) AND ${IS_LISTED}
             ORDER BY h.id LIMIT $2) AS h
     ORDER BY h.id`,
  /** Only hooks whose claim has not ended. One that was subscribed again meanwhile is not disabled: it is tried again when the claim ends. */
  settle: `
    UPDATE leadtap.hooks AS h SET ${assignFields(PROGRESS)}
      FROM (SELECT r.* FROM ${dialect.rows('$1', { ...PROGRESS, ...CLAIM })} AS r
              JOIN leadtap.hooks AS c ON c.id = r.id AND c.not_before = r."claimedUntil"
                AND (r."disabledAt" IS NULL OR c.created_at = r."createdAt")
             ORDER BY c.id FOR UPDATE OF c) AS r
     WHERE h.id = r.id RETURNING 1`,
});

type ListedRow = StoredHook & Pick<ListedHook, 'tokenName'> & { readonly isPending: boolean | number };

/** The sender tries again soon. */
const SHORT: TaskOptions = { timeout: 'short' };

/** `decode` reads a row of a lead as the database has it. */
export function createHookStore(
  { dialect, read, write }: SqlDatabase,
  decode: (row: StoredLeadRow) => LeadRecord,
): HookStore {
  const sql = prepareSql(dialect);

  function* settle(settled: readonly SettledHook[]): SqlTask<number> {
    const rows = settled.map(({ claimed: { id, notBefore, createdAt }, progress }) => {
      return { ...progress, id, createdAt, claimedUntil: notBefore };
    });
    const pushed = settled.flatMap(({ claimed: { connectionId }, accepted: leads }) =>
      connectionId !== null && leads ? [{ connection: connectionId, pending: [], ...leads }] : [],
    );
    // Only a 410 disables them.
    const gone = settled.flatMap(({ claimed, progress }) =>
      claimed.disabledAt === null && progress.disabledAt !== null ? (claimed.connectionId ?? []) : [],
    );
    yield* lockWebhooks(sql.webhooks, [...gone, ...pushed.map(({ connection }) => connection)]);
    const stored = rows.length > 0 ? (yield* query(sql.settle, [JSON.stringify(rows)])).length : 0;
    if (pushed.length > 0) yield* recordPushed(sql.webhooks, pushed, yield* readNow());
    yield* endUnusedWebhooks(sql.webhooks, gone, '410');
    return stored;
  }

  /** With the connection of a hook that sends leads, and where that begins. */
  function* connect(stored: StoredHook, isPositionFixed: boolean, now: number): SqlTask<StoredHook> {
    if (stored.send !== 'lead') return stored;
    const { announcedThrough: position } = stored;
    const facts = { ...stored, host: hostOfHook(stored), hasOwnToken: hasOwnToken(stored) };
    const connected = yield* connectWebhook(sql.webhooks, { ...facts, position, isPositionFixed }, now);
    return {
      ...stored,
      connectionId: connected.connectionId,
      announcedThrough: connected.position,
      announcedSince: isPositionFixed ? stored.announcedSince : connected.position,
    };
  }

  /** With connections that have no other webhook. */
  function* removeHooks(
    statement: string,
    values: readonly SqlValue[],
    endedBy = 'removed',
  ): SqlTask<number> {
    const removed = yield* query<DeletedHook>(statement, values);
    const connections = removed.flatMap(({ connection_id }) => connection_id ?? []);
    yield* endUnusedWebhooks(sql.webhooks, connections, endedBy);
    return removed.length;
  }

  return {
    now: () => read(readNow, SHORT),

    subscribe: (hook, maxPerUser, acceptedKeys) =>
      write(function* () {
        const [user] = yield* query<UserOfHook>(sql.lockUser, [hook.userId]);
        if (!user) return { kind: 'no-such-user' };
        yield* lockWebhooksOfUser(hook.userId);
        yield* removeHooks(PRUNE_OF_USER, [0, hook.userId]);
        const now = yield* readNow();
        const hooks = yield* query<StoredHook>(FIND_OF_USER, [hook.userId]);
        const subscribed = subscribeHook(hooks, hook, user, { maxPerUser, acceptedKeys, now });
        if (!subscribed) return { kind: 'too-many' };
        const { kind } = subscribed;
        const isPositionFixed = kind === 'known' || hook.since !== undefined;
        const stored = yield* connect(subscribed.stored, isPositionFixed, now);
        yield* query(sql.put, [JSON.stringify([stored])]);
        if (kind === 'known' && stored.connectionId !== null && stored.name !== null)
          yield* renameWebhook(stored.connectionId, stored.name);
        return { kind, hook: toHook(stored) };
      }, SHORT),

    async find(id) {
      if (!isStorable(id)) return undefined;
      const [row] = await read(() => query<StoredHook>(FIND, [id]), SHORT);
      return row && toHook(row);
    },

    async rename(id, name) {
      if (!isStorable(id)) return false;
      return write(function* () {
        const [connection] = yield* query<{ id: string | null }>(CONNECTION_OF, [id]);
        if (connection?.id) yield* renameWebhook(connection.id, name);
        return (yield* query(RENAME, [id, name])).length > 0;
      }, SHORT);
    },

    async remove(id, createdAt, endedBy) {
      if (!isStorable(id)) return false;
      return write(function* () {
        yield* lockWebhookOf(id);
        return (yield* removeHooks(REMOVE, [id, createdAt ?? null], endedBy)) > 0;
      }, SHORT);
    },

    async list({ now, limit, after, companyId, userId, acceptedKeys }) {
      const values = [after ?? '', companyId ?? null, userId ?? null];
      if (!values.every((value) => isStorable(value ?? ''))) return [];
      const rows = await read(() => query<ListedRow>(sql.list, [now, limit, ...values]), SHORT);
      return rows.map(({ companyId, tokenName, isPending, ...hook }) => {
        const isKeyRemoved = !isAcceptedKey(hook.keyId, acceptedKeys);
        return { hook, companyId, tokenName, isPending: Boolean(isPending), isKeyRemoved };
      });
    },

    claim: ({ companies, limit, claimMs, except, acceptedKeys = ALL_KEYS }) =>
      write(function* () {
        const now = yield* readNow();
        const excepted = [except?.hooks ?? [], except?.companies ?? [], except?.retriesOf ?? []];
        const rows =
          companies === 'all'
            ? yield* query<ExaminedHook>(sql.claimOfAll, [now, limit, [], ...excepted, acceptedKeys])
            : yield* query<ExaminedHook>(sql.claim, [now, limit, companies, ...excepted, acceptedKeys]);
        const { settled, due } = claimHooks(rows, now, claimMs);
        yield* settle(settled);
        return due;
      }, SHORT),

    readLead: ({ id, notBefore }, after) =>
      read(function* () {
        const values = [id, notBefore, after, yield* readNow()];
        const [row] = yield* query<StoredLeadRow>(sql.lead, values);
        return row && decode(row);
      }, SHORT),

    takePending: ({ id, notBefore }) =>
      write(function* () {
        const values = [id, notBefore, yield* readNow()];
        yield* query(DROP_PENDING, values);
        return yield* query<PendingLead>(LIST_PENDING, values);
      }, SHORT),

    settle: (settled) => write(() => settle(settled), SHORT),

    async prune(expiredBefore) {
      return write(() => removeHooks(PRUNE, [expiredBefore]), SHORT);
    },

    async hasHooks() {
      const found = await read(() => query('SELECT 1 FROM leadtap.hooks LIMIT 1'), SHORT);
      return found.length > 0;
    },
  };
}
