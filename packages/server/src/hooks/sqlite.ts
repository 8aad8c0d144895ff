/** Webhook subscriptions. */
import type { Clock } from '../clock.ts';
import type { Connection } from '../store/sqlite/connection.ts';
import {
  claimHooks,
  type ExaminedHook,
  examineValues,
  HOOK_COLUMNS,
  hookExpressions,
  PROGRESS_COLUMNS,
  type StoredHook,
  subscribeHook,
  toHook,
  type UserOfHook,
} from './sql.ts';
import type { HookCounts, HookStore, SettledHook } from './store.ts';

const { selected, examined, isEnded, newest, mayClaim, isPending, isChanged, isDue, counts } =
  hookExpressions({
    ...{ now: '?1', schema: '' },
    minutesLater: (minutes) => `?1 + ${minutes * 60_000}`,
    indexedBy: (index) => `INDEXED BY ${index}`,
    toMs: (column) => column,
    isIn: (column, value) => `${column} IN (SELECT value FROM json_each(?${value}))`,
  });

const PUT = `
  INSERT OR REPLACE INTO hooks (${HOOK_COLUMNS.map(({ name }) => name).join(', ')})
  VALUES (${HOOK_COLUMNS.map(() => '?').join(', ')})`;

const FIND_USER = `
  SELECT u.company_id AS companyId, ${newest} AS newest FROM users AS u WHERE u.id = ?`;

/** Its values: now, limit, the last id of the page before, company, user. */
const LIST = `
  SELECT ${selected}, name, ${isPending} AS isPending
    FROM (SELECT h.*, t.name, ${newest} AS newest
            FROM hooks AS h LEFT JOIN issued_tokens AS t ON t.id = h.token_id LEFT JOIN users AS u ON u.id = h.user_id
           WHERE h.id > ?3 AND (?4 IS NULL OR h.company_id = ?4) AND (?5 IS NULL OR h.user_id = ?5) AND NOT ${isEnded}
           ORDER BY h.id LIMIT ?2) AS h
   ORDER BY h.id`;

/** Hooks that are due come first, the longest waiting of them before others. */
const EXAMINE = `
  WITH examined AS MATERIALIZED (
    SELECT h.*, u.plan, c.confirmed_through, c.delivered_through, c.gaps, ${newest} AS newest
      FROM hooks AS h LEFT JOIN users AS u ON u.id = h.user_id AND u.company_id = h.company_id
      LEFT JOIN consumers AS c ON c.user_id = h.user_id AND c.token_id = h.token_id
     WHERE ${mayClaim} AND h.id IN (
       SELECT id FROM hooks WHERE ?3 IS NULL
       UNION SELECT id FROM hooks WHERE company_id IN (SELECT value FROM json_each(?3))
       UNION SELECT id FROM hooks INDEXED BY hooks_by_check WHERE check_at <= ?1))
  SELECT ${examined}, ${isDue} AS isDue
    FROM examined AS h WHERE isDue OR ${isChanged}
   ORDER BY isDue DESC, h.not_before, h.id LIMIT ?2`;

const SETTLE = `
  UPDATE hooks SET ${PROGRESS_COLUMNS.map(({ name }) => `${name} = ?`).join(', ')} WHERE id = ? AND not_before = ?`;

type SyncHookStore = {
  [Method in keyof HookStore]: (
    ...values: Parameters<HookStore[Method]>
  ) => Awaited<ReturnType<HookStore[Method]>>;
};

export function prepareHooks(connection: Connection, clock: Clock): SyncHookStore {
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
  const examine = connection.prepare<ExaminedHook>(EXAMINE);
  const settleOne = connection.prepare(SETTLE);
  const findAny = connection.prepare('SELECT 1 FROM hooks LIMIT 1');
  const count = connection.prepare<HookCounts>(counts);

  const settle = (settled: readonly SettledHook[]): void => {
    for (const { claimed, progress } of settled)
      settleOne.run(...PROGRESS_COLUMNS.map(({ field }) => progress[field]), claimed.id, claimed.notBefore);
  };

  return {
    now: clock,

    subscribe(hook, maxPerUser) {
      pruneUser.run(0, hook.userId);
      const user = findUser.get(hook.userId);
      if (!user) return { kind: 'no-such-user' };
      const subscribed = subscribeHook(findOfUser.all(hook.userId), hook, user, {
        maxPerUser,
        now: clock(),
      });
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

    claim(query) {
      const now = clock();
      const rows = examine.all(...examineValues(query, now, (list) => JSON.stringify(list)));
      const { settled, due } = claimHooks(rows, now, query.claimMs);
      settle(settled);
      return due;
    },

    settle,

    prune: (expiredBefore) => Number(prune.run(expiredBefore).changes),
    hasHooks: () => findAny.get() !== undefined,
    countByState: () => ({ active: 0, failing: 0, disabled: 0, ...count.get(clock()) }),
  };
}
