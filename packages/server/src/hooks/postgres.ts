/** Webhook subscriptions. */

import { INDEX_SCANS } from '../consumers/postgres.ts';
import { type Database, isStorable, type Session } from '../store/postgres/connection.ts';
import {
  claimHooks,
  type ExaminedHook,
  examineValues,
  HOOK_COLUMNS,
  type HookColumn,
  hookExpressions,
  PROGRESS_COLUMNS,
  type StoredHook,
  subscribeHook,
  toHook,
  type UserOfHook,
} from './sql.ts';
import type { HookCounts, HookStore, ListedHook, SettledHook } from './store.ts';

/** The sender tries again soon. */
const TIMEOUTS = { statementTimeoutMs: 5000, lockTimeoutMs: 2000 };

const NOW = 'leadtap.from_ms($1)';
const { selected, examined, isEnded, newest, mayClaim, isPending, isChanged, isDue, counts } =
  hookExpressions({
    ...{ now: NOW, schema: 'leadtap.' },
    minutesLater: (minutes) => `${NOW} + interval '${minutes} minutes'`,
    indexedBy: () => '',
    toMs: (column) => `leadtap.to_ms(${column})`,
    isIn: (column, value) => `(${column} = ANY ($${value}::text[]))`,
  });

/** A query of its own: the planner uses an index for a time that it knows. */
async function readNow(session: Pick<Session, 'query'>): Promise<number> {
  const [row] = await session.query<{ now: number }>('SELECT leadtap.clock_ms() AS now');
  return row?.now ?? 0;
}

/** Rows are passed as a JSON array `r`: the definitions of its columns, and the values to store. */
const TYPES = { text: 'text', time: 'bigint', integer: 'integer' };
const definitionsOf = (columns: readonly HookColumn[]): string =>
  columns.map(({ field, kind }) => `"${field}" ${TYPES[kind]}`).join(', ');
const toStored = ({ field, kind }: HookColumn): string =>
  kind === 'time' ? `leadtap.from_ms(r."${field}")` : `r."${field}"`;

/** Until the transaction ends, no other one adds hooks of this user. A statement of its own: the next ones see what it has waited for. */
const LOCK_USER = `
  SELECT u.company_id AS "companyId", leadtap.to_ms(${newest}) AS newest
    FROM leadtap.users AS u WHERE u.id = $1 FOR NO KEY UPDATE`;
const FIND_OF_USER = `SELECT ${selected} FROM leadtap.hooks AS h WHERE h.user_id = $1 ORDER BY h.id FOR UPDATE`;
const NAMES = HOOK_COLUMNS.map(({ name }) => name);
const PUT = `
  INSERT INTO leadtap.hooks (${NAMES.join(', ')})
  SELECT ${HOOK_COLUMNS.map(toStored).join(', ')} FROM json_to_recordset($1) AS r (${definitionsOf(HOOK_COLUMNS)})
  ON CONFLICT (id) DO UPDATE SET ${NAMES.map((name) => `${name} = excluded.${name}`).join(', ')}`;

const FIND = `SELECT ${selected} FROM leadtap.hooks AS h WHERE h.id = $1`;
const REMOVE = `
  DELETE FROM leadtap.hooks WHERE id = $1 AND created_at = coalesce(leadtap.from_ms($2), created_at) RETURNING 1`;

/** Its values: now, limit, the last id of the page before, company, user. */
const LIST = `
  SELECT ${selected}, t.name, ${isPending} AS "isPending"
    FROM leadtap.hooks AS h
    LEFT JOIN leadtap.issued_tokens AS t ON t.id = h.token_id
    LEFT JOIN leadtap.users AS u ON u.id = h.user_id
   CROSS JOIN LATERAL (SELECT ${newest} AS newest OFFSET 0) AS n
   WHERE h.id > $3 AND ($4::text IS NULL OR h.company_id = $4) AND ($5::text IS NULL OR h.user_id = $5) AND NOT ${isEnded}
   ORDER BY h.id LIMIT $2`;

/**
 * Hooks that are due come first, the longest waiting of them before others. OFFSET keeps the planner from computing `newest` more than
 * once. SKIP LOCKED: another instance has the hook.
 */
const EXAMINE = `
  SELECT ${examined}, is_due AS "isDue"
    FROM (SELECT id FROM leadtap.hooks WHERE $3::text[] IS NULL
          UNION SELECT id FROM leadtap.hooks WHERE company_id = ANY ($3)
          UNION SELECT id FROM leadtap.hooks WHERE check_at <= ${NOW}) AS k
    JOIN leadtap.hooks AS h ON h.id = k.id
    LEFT JOIN leadtap.users AS u ON u.id = h.user_id AND u.company_id = h.company_id
    LEFT JOIN leadtap.consumers AS c ON c.user_id = h.user_id AND c.token_id = h.token_id
   CROSS JOIN LATERAL (SELECT ${newest} AS newest OFFSET 0) AS n
   CROSS JOIN LATERAL (SELECT ${isDue} AS is_due OFFSET 0) AS d
   WHERE ${mayClaim} AND (is_due OR ${isChanged})
   ORDER BY is_due DESC, h.not_before, h.id LIMIT $2
     FOR UPDATE OF h SKIP LOCKED`;

/** Rows are locked in the order of their ids, so that two processes cannot deadlock. */
const SETTLE = `
  UPDATE leadtap.hooks AS h SET ${PROGRESS_COLUMNS.map((column) => `${column.name} = ${toStored(column)}`).join(', ')}
    FROM (SELECT r.* FROM json_to_recordset($1) AS r (id text, "claimedUntil" bigint, ${definitionsOf(PROGRESS_COLUMNS)})
            JOIN leadtap.hooks AS c ON c.id = r.id AND c.not_before = leadtap.from_ms(r."claimedUntil")
           ORDER BY c.id FOR UPDATE OF c) AS r
   WHERE h.id = r.id`;
const PRUNE = `
  DELETE FROM leadtap.hooks WHERE id IN (
    SELECT h.id FROM leadtap.hooks AS h WHERE ($2::text IS NULL OR h.user_id = $2) AND ${isEnded} ORDER BY h.id FOR UPDATE)
  RETURNING 1`;

async function settle(session: Pick<Session, 'query'>, settled: readonly SettledHook[]): Promise<void> {
  const rows = settled.map(({ claimed: { id, notBefore }, progress }) => ({
    ...progress,
    id,
    claimedUntil: notBefore,
  }));
  if (rows.length > 0) await session.query(SETTLE, [JSON.stringify(rows)]);
}

type Listed = StoredHook & Pick<ListedHook, 'name' | 'isPending'>;

export const hookMethods = (database: Database): HookStore => ({
  now: () => readNow(database),

  subscribe: (hook, maxPerUser) =>
    database.transaction(async (session) => {
      const [user] = await session.query<UserOfHook>(LOCK_USER, [hook.userId]);
      if (!user) return { kind: 'no-such-user' };
      await session.query(PRUNE, [0, hook.userId]);
      const now = await readNow(session);
      const hooks = await session.query<StoredHook>(FIND_OF_USER, [hook.userId]);
      const subscribed = subscribeHook(hooks, hook, user, { maxPerUser, now });
      if (!subscribed) return { kind: 'too-many' };
      const { kind, stored } = subscribed;
      await session.query(PUT, [JSON.stringify([{ ...stored, tokenId: stored.tokenId ?? '' }])]);
      return { kind, hook: toHook(stored) };
    }, TIMEOUTS),

  async find(id) {
    const [row] = isStorable(id) ? await database.query<StoredHook>(FIND, [id]) : [];
    return row && toHook(row);
  },

  remove: async (id, createdAt) =>
    isStorable(id) && (await database.query(REMOVE, [id, createdAt ?? null])).length > 0,

  async list({ now, limit, after, companyId, userId }) {
    const values = [after ?? '', companyId ?? null, userId ?? null];
    if (!values.every((value) => isStorable(value ?? ''))) return [];
    const rows = await database.transaction(async (session) => {
      await session.query(INDEX_SCANS);
      return session.query<Listed>(LIST, [now, limit, ...values]);
    }, TIMEOUTS);
    return rows.map(({ companyId, name, isPending, ...hook }) => ({ hook, companyId, name, isPending }));
  },

  claim: (query) =>
    database.transaction(async (session) => {
      await session.query(INDEX_SCANS);
      const now = await readNow(session);
      const rows = await session.query<ExaminedHook>(
        EXAMINE,
        examineValues(query, now, (list) => list),
      );
      const { settled, due } = claimHooks(rows, now, query.claimMs);
      await settle(session, settled);
      return due;
    }, TIMEOUTS),

  settle: (settled) => settle(database, settled),

  prune: async (expiredBefore) =>
    (await database.transaction((session) => session.query(PRUNE, [expiredBefore, null]), TIMEOUTS)).length,

  hasHooks: async () => (await database.query('SELECT FROM leadtap.hooks LIMIT 1')).length > 0,

  async countByState() {
    const [found] = await database.query<HookCounts>(counts, [await readNow(database)]);
    return { active: 0, failing: 0, disabled: 0, ...found };
  },
});
