/** The consumers: how far each token has come. */
import {
  CONSUMER_COLUMNS,
  type ConsumerRow,
  fromRow,
  type ListedRow,
  NO_TOKEN_ID,
  toConsumer,
  toRow,
} from '../consumer-row.ts';
import {
  type Consumer,
  type ConsumerKey,
  type ConsumerQuery,
  MAX_CONSUMERS_PER_USER,
  mergePolls,
  type PollSummary,
} from '../consumers.ts';
import type { Connection, SqlValue } from './connection.ts';

const NAMES = Object.keys(CONSUMER_COLUMNS) as (keyof ConsumerRow)[];
const COLUMNS = NAMES.join(', ');

/** `max` of SQLite is null if one of its values is. */
const POSITION =
  'max(coalesce(c.confirmed_through, c.delivered_through), coalesce(c.delivered_through, c.confirmed_through))';
const IS_PENDING = `l.created_at > coalesce(${POSITION}, -8640000000000000)`;

/** The leads that a user may see, by access level. Each is a range of one index. */
const LEADS_OF = {
  COMPANY: 'leads AS l WHERE l.company_id = u.company_id',
  BRANCH:
    'leads AS l INDEXED BY leads_by_branch WHERE l.company_id = u.company_id AND l.branch_id = u.branch_id',
  DEPARTMENT: `leads AS l INDEXED BY leads_by_department
    WHERE l.company_id = u.company_id AND l.department_id = u.department_id`,
};

const byLevel = (select: (leads: string) => string): string =>
  `CASE u.access_level ${Object.entries(LEADS_OF)
    .map(([level, leads]) => `WHEN '${level}' THEN (${select(leads)})`)
    .join(' ')} END`;

const IS_REVOKED = 'EXISTS (SELECT 1 FROM revoked_tokens AS r WHERE r.token_id = c.token_id)';
const IS_ISSUED = 'EXISTS (SELECT 1 FROM issued_tokens AS i WHERE i.id = c.token_id)';
/** An expired token of an identity provider: the client has another one. */
const IS_REPLACED = `c.token_expires_at IS NOT NULL AND c.token_expires_at <= ?1 AND NOT ${IS_ISSUED}`;

/** Its values: now, limit, the maximum of the counts, user and token of the last consumer before, company or user. */
const listSql = (from: string, condition: string, order: string): string => `
  SELECT ${NAMES.map((name) => `c.${name}`).join(', ')},
         u.company_id, u.plan, u.access_level, u.branch_id, u.department_id, t.name, t.issued_at AS token_issued_at,
         ${byLevel((leads) => `SELECT count(*) FROM (SELECT 1 FROM ${leads} AND ${IS_PENDING} LIMIT ?3)`)} AS pending,
         ${byLevel((leads) => `SELECT l.created_at FROM ${leads} AND ${IS_PENDING} ORDER BY l.created_at LIMIT 1`)} AS pending_since
    FROM ${from} LEFT JOIN issued_tokens AS t ON t.id = c.token_id
   WHERE ${condition} AND (c.user_id, c.token_id) > (?4, ?5)
     AND NOT ${IS_REVOKED} AND NOT (${IS_REPLACED})
   ORDER BY ${order}, c.token_id LIMIT ?2`;

const OF_ALL = 'consumers AS c CROSS JOIN users AS u ON u.id = c.user_id';
const OF_COMPANY =
  'users AS u INDEXED BY users_by_company CROSS JOIN consumers AS c ON c.user_id = u.id AND u.company_id = ?6';

const PRUNE = `
  DELETE FROM consumers AS c
   WHERE c.last_poll_at < ?2 OR NOT EXISTS (SELECT 1 FROM users AS u WHERE u.id = c.user_id)
      OR ${IS_REVOKED} OR ${IS_REPLACED}`;

export function prepareConsumers(connection: Connection) {
  const find = connection.prepare<ConsumerRow>(
    `SELECT ${COLUMNS} FROM consumers WHERE user_id = ? AND token_id = ?`,
  );
  const put = connection.prepare(
    `INSERT OR REPLACE INTO consumers (${COLUMNS}) VALUES (${NAMES.map(() => '?').join(', ')})`,
  );
  // Without the key: SQLite would delete and insert the row.
  const [, , ...values] = NAMES;
  const update = connection.prepare(
    `UPDATE consumers SET ${values.map((name, index) => `${name} = ?${index + 3}`).join(', ')}
      WHERE user_id = ?1 AND token_id = ?2`,
  );
  const count = connection.prepare<{ n: number }>(
    `SELECT count(*) AS n FROM consumers WHERE user_id = ? AND token_id <> '${NO_TOKEN_ID}'`,
  );
  const listAll = connection.prepare<ListedRow>(listSql(OF_ALL, '?6 IS NULL', 'c.user_id'));
  const listOfUser = connection.prepare<ListedRow>(listSql(OF_ALL, 'c.user_id = ?6', 'c.user_id'));
  const listOfCompany = connection.prepare<ListedRow>(
    listSql(OF_COMPANY, 'u.company_id = ?6 AND u.id >= ?4', 'u.id'),
  );
  const prune = connection.prepare(PRUNE);

  return {
    record(summaries: readonly PollSummary[]): ConsumerKey[] {
      return summaries.map((polls) => {
        const { userId } = polls;
        let { tokenId } = polls;
        let stored = find.get(userId, tokenId ?? NO_TOKEN_ID);
        if (!stored && tokenId !== null && (count.get(userId)?.n ?? 0) >= MAX_CONSUMERS_PER_USER) {
          tokenId = null;
          stored = find.get(userId, NO_TOKEN_ID);
        }
        const row = toRow(mergePolls(stored && fromRow(stored), { ...polls, tokenId }));
        (stored ? update : put).run(...NAMES.map((name) => row[name]));
        return { userId, tokenId };
      });
    },
    list({ companyId, userId, after, limit, maxPendingLeads, now }: ConsumerQuery): Consumer[] {
      const statement = userId !== undefined ? listOfUser : companyId !== undefined ? listOfCompany : listAll;
      const start: SqlValue[] = after ? [after.userId, after.tokenId ?? NO_TOKEN_ID] : ['', ''];
      const rows = statement.all(now, limit, maxPendingLeads, ...start, userId ?? companyId ?? null);
      return rows
        .map(toConsumer)
        .filter((consumer) => companyId === undefined || consumer.user.companyId === companyId);
    },
    prune: (now: number, before: number): number => Number(prune.run(now, before).changes),
  };
}
