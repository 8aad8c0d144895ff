/** The consumers: how far each token has come. */

import type { Connection, SqlValue } from '../store/sqlite/connection.ts';
import { type Gap, keepGapsWithLeads } from './gaps.ts';
import {
  CONSUMER_COLUMNS,
  type ConsumerRow,
  fromRow,
  type ListedRow,
  NO_TOKEN_ID,
  toConsumer,
  toRow,
} from './row.ts';
import {
  type Consumer,
  type ConsumerKey,
  type ConsumerPosition,
  type ConsumerQuery,
  ENDED_TOKEN_MS,
  MAX_CONSUMERS_PER_USER,
  mergePolls,
  type PollSummary,
  startOfFirstPolls,
} from './store.ts';

const NAMES = Object.keys(CONSUMER_COLUMNS) as (keyof ConsumerRow)[];
const COLUMNS = NAMES.join(', ');

/** `max` of SQLite is null if one of its values is. */
const POSITION =
  'max(coalesce(c.confirmed_through, c.delivered_through), coalesce(c.delivered_through, c.confirmed_through))';
const MIN_TIME = -8_640_000_000_000_000;
const IS_PENDING = `l.created_at > coalesce(${POSITION}, ${MIN_TIME})`;
const IS_UNCONFIRMED = 'l.created_at > c.confirmed_through AND l.created_at <= c.delivered_through';

/** The leads that a user may see, by access level. Each is a range of one index. */
const LEADS_OF = {
  COMPANY: 'leads AS l WHERE l.company_id = u.company_id',
  BRANCH:
    'leads AS l INDEXED BY leads_by_branch WHERE l.company_id = u.company_id AND l.branch_id = u.branch_id',
  DEPARTMENT: `leads AS l INDEXED BY leads_by_department
    WHERE l.company_id = u.company_id AND l.department_id = u.department_id`,
};

const IN_GAP = `l.created_at > coalesce(g.value ->> 'after', ${MIN_TIME}) AND l.created_at <= g.value ->> 'through'`;
const skippedIn = (leads: string): string =>
  `FROM json_each(c.gaps) AS g CROSS JOIN ${leads} AND NOT g.value ->> 'isBeforeStart' AND ${IN_GAP}`;

const byLevel = (select: (leads: string) => string): string =>
  `CASE u.access_level ${Object.entries(LEADS_OF)
    .map(([level, leads]) => `WHEN '${level}' THEN (${select(leads)})`)
    .join(' ')} END`;

const IS_REVOKED = 'EXISTS (SELECT 1 FROM revoked_tokens AS r WHERE r.token_id = c.token_id)';
/** A revoked token that is still used is listed, so that it is noticed. */
const IS_OVER = `${IS_REVOKED} AND NOT (c.last_status = 401 AND c.last_poll_at > ?1 - ${ENDED_TOKEN_MS})`;
const isIssued = (consumer: string): string =>
  `EXISTS (SELECT 1 FROM issued_tokens AS i WHERE i.id = ${consumer}.token_id)`;
/** An expired token of an identity provider, and the client has another one: a token of the user that has polled since. */
const IS_REPLACED = `coalesce(c.token_expires_at <= ?1, false) AND c.token_id <> '${NO_TOKEN_ID}' AND NOT ${isIssued('c')}
  AND EXISTS (SELECT 1 FROM consumers AS o WHERE o.user_id = c.user_id AND o.last_poll_at > c.last_poll_at AND NOT ${isIssued('o')})`;

/** Its values: now, limit, the maximum of the counts, user and token of the last consumer before, company or user. */
const listSql = (from: string, condition: string, order: string): string => `
  SELECT ${NAMES.map((name) => `c.${name}`).join(', ')},
         ${IS_REVOKED} AS is_revoked, a.unavailable_since, a.available_since,
         u.company_id, u.plan, u.access_level, u.branch_id, u.department_id, t.name, t.issued_at AS token_issued_at,
         ${byLevel((leads) => `SELECT count(*) FROM (SELECT 1 FROM ${leads} AND ${IS_PENDING} LIMIT ?3)`)} AS pending,
         ${byLevel((leads) => `SELECT l.created_at FROM ${leads} AND ${IS_PENDING} ORDER BY l.created_at LIMIT 1`)} AS pending_since,
         ${byLevel((leads) => `SELECT count(*) FROM (SELECT 1 ${skippedIn(leads)} LIMIT ?3)`)} AS skipped,
         ${byLevel((leads) => `SELECT min(l.created_at) ${skippedIn(leads)}`)} AS skipped_since,
         ${byLevel((leads) => `SELECT l.created_at FROM ${leads} AND ${IS_UNCONFIRMED} ORDER BY l.created_at LIMIT 1`)} AS unconfirmed_since
    FROM ${from} LEFT JOIN availability AS a ON a.id = 1 LEFT JOIN issued_tokens AS t ON t.id = c.token_id
   WHERE ${condition} AND (c.user_id, c.token_id) > (?4, ?5)
     AND NOT (${IS_OVER}) AND NOT (${IS_REPLACED})
   ORDER BY ${order}, c.token_id LIMIT ?2`;

const OF_ALL = 'consumers AS c CROSS JOIN users AS u ON u.id = c.user_id';
const OF_COMPANY =
  'users AS u INDEXED BY users_by_company CROSS JOIN consumers AS c ON c.user_id = u.id AND u.company_id = ?6';

const PRUNE = `
  DELETE FROM consumers AS c
   WHERE c.last_poll_at < ?2 OR NOT EXISTS (SELECT 1 FROM users AS u WHERE u.id = c.user_id)
      OR (${IS_OVER}) OR (${IS_REPLACED})`;

/** Before the last start. A stop that is recorded is no crash, and neither is a database that was unreachable. */
const HAS_CRASHED = 'coalesce(stopped_at < unavailable_since, true)';
/** Its values: now, and since when the service was unavailable, or null. */
const RECORD_DOWNTIME = `
  INSERT INTO availability AS a (id, unavailable_since, available_since)
  VALUES (1, min(?1, coalesce(?2, (SELECT max(last_poll_at) FROM consumers), ?1)), ?1)
  ON CONFLICT (id) DO UPDATE SET available_since = excluded.available_since, unavailable_since =
    CASE WHEN ?2 IS NULL
         THEN min(?1, max(coalesce((SELECT max(last_poll_at) FROM consumers), 0), coalesce(a.available_since, 0), coalesce(a.stopped_at, 0)))
         ELSE excluded.unavailable_since END,
    stopped_at = CASE WHEN ?2 IS NULL THEN a.stopped_at ELSE ?1 END`;
const RECORD_STOP = `
  INSERT INTO availability (id, stopped_at) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET stopped_at = excluded.stopped_at`;

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
  const issued = connection.prepare('SELECT 1 FROM issued_tokens WHERE id = ? AND user_id = ?');
  const newest = connection.prepare<{ newest: number | null }>(
    `SELECT ${byLevel(
      (leads) =>
        `SELECT l.created_at FROM ${leads} AND l.created_at > ?2 AND l.created_at <= ?3 ORDER BY l.created_at DESC LIMIT 1`,
    )} AS newest FROM users AS u WHERE u.id = ?1`,
  );
  const started = connection.prepare<{ startedAt: number | null }>(
    `SELECT available_since AS startedAt FROM availability WHERE ${HAS_CRASHED}`,
  );
  const downtime = connection.prepare(RECORD_DOWNTIME);
  const stop = connection.prepare(RECORD_STOP);

  function dropEmptyGaps(position: ConsumerPosition, stored: ConsumerPosition | undefined): ConsumerPosition {
    const { userId, gaps } = position;
    if (gaps.length === 0 || gaps === stored?.gaps) return position;
    const newestIn = ({ after, through }: Gap) =>
      newest.get(userId, after ?? MIN_TIME, through)?.newest ?? null;
    const startedAt = startOfFirstPolls(stored, started.get()?.startedAt);
    return { ...position, gaps: keepGapsWithLeads(gaps, newestIn, startedAt) };
  }

  return {
    record(summaries: readonly PollSummary[]): ConsumerKey[] {
      return summaries.map((polls) => {
        const { userId } = polls;
        let { tokenId } = polls;
        if (polls.mustBeIssued && !issued.get(tokenId, userId)) return polls;
        let stored = find.get(userId, tokenId ?? NO_TOKEN_ID);
        if (!stored && tokenId !== null && (count.get(userId)?.n ?? 0) >= MAX_CONSUMERS_PER_USER) {
          tokenId = null;
          stored = find.get(userId, NO_TOKEN_ID);
        }
        const known = stored && fromRow(stored);
        const row = toRow(dropEmptyGaps(mergePolls(known, { ...polls, tokenId }), known));
        (stored ? update : put).run(...NAMES.map((name) => row[name]));
        return { userId, tokenId };
      });
    },
    list({ companyId, userId, after, limit, maxPendingLeads, now }: ConsumerQuery): Consumer[] {
      const statement = userId !== undefined ? listOfUser : companyId !== undefined ? listOfCompany : listAll;
      const start: SqlValue[] = after ? [after.userId, after.tokenId ?? NO_TOKEN_ID] : ['', ''];
      const rows = statement.all(now, limit, maxPendingLeads, ...start, userId ?? companyId ?? null);
      return rows
        .map((row) => toConsumer(row, now))
        .filter((consumer) => companyId === undefined || consumer.user.companyId === companyId);
    },
    recordDowntime(now: number, unavailableSince?: number): void {
      downtime.run(now, unavailableSince ?? null);
    },
    recordStop(now: number): void {
      stop.run(now);
    },
    prune: (now: number, before: number): number => Number(prune.run(now, before).changes),
  };
}
