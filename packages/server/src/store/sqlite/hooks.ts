/** Webhook subscriptions. */
import {
  HOOK_COLUMNS,
  hookExpressions,
  PROGRESS_COLUMNS,
  type StoredHook,
  subscribeHook,
  toHook,
  type UserOfHook,
} from '../hook-sql.ts';
import type { HookCounts, HookStore } from '../hooks.ts';
import type { Connection } from './connection.ts';

const { selected, isEnded, newest, isFree, isPending, isDue, counts } = hookExpressions({
  ...{ now: '?1', nextMinute: '?1 + 60000', schema: '' },
  indexedBy: (index) => `INDEXED BY ${index}`,
  toMs: (column) => column,
});

const PUT = `
  INSERT OR REPLACE INTO hooks (${HOOK_COLUMNS.map(({ name }) => name).join(', ')})
  VALUES (${HOOK_COLUMNS.map(() => '?').join(', ')})`;

const FIND_USER = `
  SELECT c.id AS companyId, c.last_stamp AS lastStamp FROM users AS u JOIN companies AS c ON c.id = u.company_id
   WHERE u.id = ?`;

/** Its values: now, limit, the last id of the page before, company, user. */
const LIST = `
  SELECT ${selected}, name, ${isPending} AS isPending
    FROM (SELECT h.*, t.name, ${newest} AS newest
            FROM hooks AS h LEFT JOIN issued_tokens AS t ON t.id = h.token_id LEFT JOIN users AS u ON u.id = h.user_id
           WHERE h.id > ?3 AND (?4 IS NULL OR h.company_id = ?4) AND (?5 IS NULL OR h.user_id = ?5) AND NOT ${isEnded}
           ORDER BY h.id LIMIT ?2) AS h
   ORDER BY h.id`;

/** Its values: now, limit, the companies as JSON or null for all. Hooks that are due come first, the longest waiting of them before others. */
const EXAMINE = `
  WITH examined AS MATERIALIZED (
    SELECT h.*, u.plan, ${newest} AS newest
      FROM hooks AS h LEFT JOIN users AS u ON u.id = h.user_id AND u.company_id = h.company_id
     WHERE ${isFree} AND h.id IN (
       SELECT id FROM hooks WHERE ?3 IS NULL
       UNION SELECT id FROM hooks WHERE company_id IN (SELECT value FROM json_each(?3))
       UNION SELECT id FROM hooks INDEXED BY hooks_by_check WHERE check_at <= ?1))
  SELECT ${selected}, newest, ${isDue} AS isDue
    FROM examined AS h WHERE isDue OR h.check_at <= ?1
   ORDER BY isDue DESC, h.not_before, h.id LIMIT ?2`;

const SETTLE = `
  UPDATE hooks SET ${PROGRESS_COLUMNS.map(({ name }) => `${name} = ?`).join(', ')} WHERE id = ? AND not_before = ?`;

type SyncHookStore = {
  [Method in keyof HookStore]: (
    ...values: Parameters<HookStore[Method]>
  ) => Awaited<ReturnType<HookStore[Method]>>;
};

export function prepareHooks(connection: Connection): SyncHookStore {
  const findUser = connection.prepare<UserOfHook>(FIND_USER);
  const prune = connection.prepare(`DELETE FROM hooks AS h WHERE ${isEnded}`);
  const pruneUser = connection.prepare(`DELETE FROM hooks AS h WHERE h.user_id = ?2 AND ${isEnded}`);
  const findOfUser = connection.prepare<StoredHook>(`SELECT ${selected} FROM hooks AS h WHERE h.user_id = ?`);
  const put = connection.prepare(PUT);
  const find = connection.prepare<StoredHook>(`SELECT ${selected} FROM hooks AS h WHERE h.id = ?`);
  const remove = connection.prepare(
    'DELETE FROM hooks WHERE id = ?1 AND created_at = coalesce(?2, created_at)',
  );
  const list = connection.prepare<StoredHook & { name: string | null; isPending: number }>(LIST);
  const examine = connection.prepare<StoredHook & { newest: number | null; isDue: number }>(EXAMINE);
  const schedule = connection.prepare('UPDATE hooks SET not_before = ?, check_at = ? WHERE id = ?');
  const settle = connection.prepare(SETTLE);
  const findAny = connection.prepare('SELECT 1 FROM hooks LIMIT 1');
  const count = connection.prepare<HookCounts>(counts);

  return {
    subscribe(hook, maxPerUser) {
      pruneUser.run(hook.createdAt, hook.userId);
      const user = findUser.get(hook.userId);
      if (!user) return { kind: 'no-such-user' };
      const subscribed = subscribeHook(findOfUser.all(hook.userId), hook, user, maxPerUser);
      if (!subscribed) return { kind: 'too-many' };
      const { kind, stored } = subscribed;
      const row = { ...stored, tokenId: stored.tokenId ?? '' };
      put.run(...HOOK_COLUMNS.map(({ field }) => row[field]));
      return { kind, hook: toHook(stored) };
    },

    find(id) {
      const found = find.get(id);
      return found && toHook(found);
    },

    remove: (id, createdAt) => remove.run(id, createdAt ?? null).changes > 0,

    list: ({ now, limit, after, companyId, userId }) =>
      list
        .all(now, limit, after ?? '', companyId ?? null, userId ?? null)
        .map(({ companyId, name, isPending, ...hook }) => ({
          hook,
          companyId,
          name,
          isPending: isPending !== 0,
        })),

    claim({ now, claimUntil, companies, limit }) {
      const rows = examine.all(now, limit, companies === 'all' ? null : JSON.stringify(companies));
      return rows.flatMap(({ companyId, newest, isDue, ...hook }) => {
        const { id, announcedThrough, notBefore, remindAt } = hook;
        if (!isDue) {
          schedule.run(notBefore, remindAt !== null && remindAt > now ? remindAt : null, id);
          return [];
        }
        schedule.run(claimUntil, claimUntil, id);
        const through = Math.max(newest ?? announcedThrough, announcedThrough);
        return [{ hook: { ...hook, notBefore: claimUntil, checkAt: claimUntil }, companyId, through }];
      });
    },

    settle(settled) {
      for (const { claimed, progress } of settled)
        settle.run(...PROGRESS_COLUMNS.map(({ field }) => progress[field]), claimed.id, claimed.notBefore);
    },

    prune: (now) => Number(prune.run(now).changes),
    hasHooks: () => findAny.get() !== undefined,
    countByState: () => ({ active: 0, failing: 0, disabled: 0, ...count.get() }),
  };
}
