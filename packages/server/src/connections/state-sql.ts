/**
 * What became of a lead, in one text for every output: a row in deliveries → sent; a row in missed → missed; meant for the connection,
 * and newer than its position or not audited yet → waiting; else none. `c` is the connection, `u` its user, `l` the lead.
 */
import { selectVisibleLeads, unionVisibleLeads } from '../leads/access.ts';
import type { Dialect } from '../sql/sql.ts';

/** Of one run of the audit. */
export const MAX_NARROWED = 1000;
/** Enough to say "1,000". */
export const MAX_WAITING = 1000;
/** So that a debt is counted whole. */
const MAX_MISSED = 100_000;

const isAt = (level: string, branch: string, department: string): string => `(${level} = 'COMPANY'
  OR ${level} = 'BRANCH' AND l.branch_id = ${branch} OR ${level} = 'DEPARTMENT' AND l.department_id = ${department})`;
const IS_VISIBLE = isAt('u.access_level', 'u.branch_id', 'u.department_id');
/** Access that was changed adds nothing from before. */
const WAS_VISIBLE = `(c.access_changed_through IS NULL OR l.created_at > c.access_changed_through
  OR ${isAt('c.before_level', 'c.before_branch', 'c.before_department')})`;
/** Leads between its start and its end, without imported history. */
const IS_MEANT = `l.created_at > c.start_stamp AND (c.ended_at IS NULL OR l.created_at <= c.end_stamp)
  AND l.created_at = l.automation_created_at AND ${WAS_VISIBLE}`;
/** From here on, leads may wait: a poller's are audited once they are behind its position. */
const DUE_AFTER = `CASE WHEN c.kind = 'poll' AND c.audited_through < c.position THEN c.audited_through ELSE c.position END`;
const NO_DELIVERY = `NOT EXISTS (SELECT 1 FROM leadtap.deliveries AS d WHERE d.created_at = l.created_at AND d.connection = c.id)`;
const NOT_MISSED = `NOT EXISTS (SELECT 1 FROM leadtap.missed AS m WHERE m.connection = c.id AND m.created_at = l.created_at)`;
const IS_PENDING = `EXISTS (SELECT 1 FROM leadtap.pending_leads AS p WHERE p.connection = c.id AND p.created_at = l.created_at)`;
const IS_WAITING = `(${IS_MEANT} AND l.created_at > ${DUE_AFTER} OR ${IS_PENDING}) AND ${NO_DELIVERY} AND ${NOT_MISSED}`;
/** Owed and not sent. */
export const IS_OWED_MISS = `m.handled_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM leadtap.deliveries AS d WHERE d.created_at = m.created_at AND d.connection = m.connection)`;

/** The leads after its position that wait, the oldest first, as the column `value`. */
const dueLeads = (dialect: Dialect, limit: number): string =>
  unionVisibleLeads(
    dialect,
    'u',
    (leads) => `SELECT l.created_at AS value FROM ${leads} AND l.created_at > ${DUE_AFTER} AND ${IS_MEANT}
      AND ${NO_DELIVERY} AND ${NOT_MISSED} ORDER BY l.created_at LIMIT ${limit}`,
  );

const PENDING = `SELECT p.created_at AS value FROM leadtap.pending_leads AS p
  WHERE p.connection = c.id AND p.created_at <= ${DUE_AFTER}
    AND NOT EXISTS (SELECT 1 FROM leadtap.deliveries AS d WHERE d.created_at = p.created_at AND d.connection = c.id)`;

export const waitingLeads = (dialect: Dialect, limit = MAX_WAITING): string =>
  `SELECT value FROM (${dueLeads(dialect, limit)} UNION ALL ${PENDING}) AS w`;

/** The values: the connection, a time before which they were created, a limit. */
export const listOwedSql = (dialect: Dialect): string => `
  SELECT leadtap.to_ms(o.value) AS "createdAt" FROM leadtap.connections AS c
    LEFT JOIN leadtap.users AS u ON u.id = c.user_id AND u.company_id = c.company_id
    ${dialect.joinValues(
      `SELECT value FROM (
         SELECT m.created_at AS value FROM leadtap.missed AS m WHERE m.connection = c.id AND ${IS_OWED_MISS}
         UNION ${waitingLeads(dialect)}) AS owed
        WHERE value < leadtap.from_ms($2) ORDER BY value DESC LIMIT $3`,
      'o',
    )}
   WHERE c.id = $1 ORDER BY o.value DESC`;

/** Counted at each level apart: each is a range of one index. */
export const countWaiting = (dialect: Dialect): string =>
  `(${selectVisibleLeads(
    dialect,
    'u',
    (
      leads,
    ) => `SELECT count(*) FROM (SELECT 1 AS one FROM ${leads} AND l.created_at > ${DUE_AFTER} AND ${IS_MEANT}
    AND ${NO_DELIVERY} AND ${NOT_MISSED} ORDER BY l.created_at LIMIT ${MAX_WAITING}) AS counted`,
  )}) + (SELECT count(*) FROM (${PENDING}) AS counted)`;

export const firstWaiting = (dialect: Dialect): string =>
  `(SELECT min(value) FROM (${waitingLeads(dialect, 1)}) AS first)`;

/** The values: company, id of the lead. `u` may be missing. */
export const leadStateSql = `
  SELECT c.id, c.name, c.user_id AS "userId", leadtap.to_ms(d.sent_at) AS "sentAt",
         CASE WHEN d.sent_at IS NULL THEN m.why END AS why, leadtap.to_ms(m.missed_at) AS "missedAt",
         leadtap.to_ms(m.handled_at) AS "handledAt", leadtap.to_ms(l.created_at) AS "createdAt",
         leadtap.to_ms(l.automation_created_at) AS "addedAt", leadtap.to_ms(c.start_stamp) AS "startStamp",
         leadtap.to_ms(c.ended_at) AS "endedAt", c.ended_by AS "endedBy",
         (u.id IS NOT NULL AND ${IS_VISIBLE}) AS "isVisible",
         CASE WHEN d.sent_at IS NOT NULL THEN 'sent' WHEN m.why IS NOT NULL THEN 'missed'
              WHEN u.id IS NOT NULL AND ${IS_VISIBLE} AND ${IS_WAITING} THEN 'waiting' ELSE 'none' END AS state
    FROM leadtap.leads AS l
    JOIN leadtap.connections AS c ON c.company_id = l.company_id AND c.kind <> 'send'
    LEFT JOIN leadtap.users AS u ON u.id = c.user_id AND u.company_id = c.company_id
    LEFT JOIN leadtap.deliveries AS d ON d.created_at = l.created_at AND d.connection = c.id
    LEFT JOIN leadtap.missed AS m ON m.connection = c.id AND m.created_at = l.created_at
   WHERE l.company_id = $1 AND l.id = $2 ORDER BY c.id`;

/**
 * Leads that wait for a connection become missed. The values: the connection, why, now, and a stamp: only those after its position up to
 * there. Null: all.
 */
export const missWaitingSql = (dialect: Dialect): string => `
  INSERT INTO leadtap.missed (connection, created_at, why, missed_at)
    SELECT c.id, w.value, $2, leadtap.from_ms($3)
      FROM leadtap.connections AS c JOIN leadtap.users AS u ON u.id = c.user_id AND u.company_id = c.company_id
      ${dialect.joinValues(waitingLeads(dialect, MAX_MISSED), 'w')}
     WHERE c.id = $1 AND (CAST($4 AS bigint) IS NULL OR w.value > c.position AND w.value <= leadtap.from_ms($4))
    ON CONFLICT (connection, created_at) DO NOTHING`;

/**
 * The leads of (after, through] that a poller was not sent, oldest first, with whether each was moved. The values: the connection,
 * after, through, limit.
 */
export const passedSql = (dialect: Dialect): string => `
  SELECT leadtap.to_ms(w.value) AS "createdAt",
         (SELECT leadtap.to_ms(v.moved_at) FROM leadtap.lead_moves AS v
           WHERE v.company_id = c.company_id AND v.created_at = w.value) AS "movedAt"
    FROM leadtap.connections AS c JOIN leadtap.users AS u ON u.id = c.user_id AND u.company_id = c.company_id
    ${dialect.joinValues(
      unionVisibleLeads(
        dialect,
        'u',
        (leads) => `SELECT l.created_at AS value FROM ${leads} AND l.created_at > leadtap.from_ms($2)
          AND l.created_at <= leadtap.from_ms($3) AND ${IS_MEANT} AND ${NO_DELIVERY} AND ${NOT_MISSED}
          ORDER BY l.created_at LIMIT CAST($4 AS integer)`,
      ),
      'w',
    )}
   WHERE c.id = $1 ORDER BY 1`;

/**
 * Moved leads that a connection is past and could not see before: `none` for it until they are looked at. The values: the company. `c` is
 * every connection that has started and not ended. Moves come first: SQLite would begin with all leads.
 */
export const movedSql = (dialect: Dialect): string => `
  SELECT c.id, leadtap.to_ms(l.created_at) AS "createdAt", leadtap.to_ms(v.moved_at) AS "movedAt"
    FROM leadtap.lead_moves AS v
    ${dialect.joinEach('leads', 'l', 'l.company_id = v.company_id AND l.created_at = v.created_at')}
    ${dialect.joinEach('connections', 'c', "c.company_id = v.company_id AND c.kind <> 'send'")}
    JOIN leadtap.users AS u ON u.id = c.user_id AND u.company_id = c.company_id
   WHERE v.company_id = $1 AND v.is_new AND c.ended_at IS NULL AND ${IS_MEANT} AND ${IS_VISIBLE}
     AND l.created_at <= ${DUE_AFTER} AND ${NO_DELIVERY} AND ${NOT_MISSED} AND NOT ${IS_PENDING}
   ORDER BY c.id, l.created_at LIMIT 2000`;

/**
 * Leads that waited for a connection whose access was narrowed, and that it cannot see any more. The value: the connection. CASE, because
 * whether it sees a lead without a branch is NULL.
 */
export const narrowedSql = `
  SELECT leadtap.to_ms(l.created_at) AS "createdAt"
    FROM leadtap.connections AS c JOIN leadtap.users AS u ON u.id = c.user_id
    JOIN leadtap.leads AS l ON l.company_id = c.company_id
   WHERE c.id = $1 AND l.created_at > ${DUE_AFTER} AND l.created_at <= c.access_changed_through
     AND l.created_at > c.start_stamp AND l.created_at = l.automation_created_at
     AND ${isAt('c.before_level', 'c.before_branch', 'c.before_department')}
     AND CASE WHEN u.company_id = c.company_id AND ${IS_VISIBLE} THEN false ELSE true END AND ${NO_DELIVERY} AND ${NOT_MISSED}
   ORDER BY l.created_at LIMIT ${MAX_NARROWED}`;

/**
 * Leads of (after, through] that no connection that has worked has, gets, has missed or owed when a person marked it as handled: of these,
 * its own row says all. The values: company, after, through, and when a new connection may still become one that works.
 */
export const unassignedSql = `
  SELECT leadtap.to_ms(l.created_at) AS "createdAt",
         EXISTS (SELECT 1 FROM leadtap.connections AS c JOIN leadtap.users AS u ON u.id = c.user_id AND u.company_id = c.company_id
                  WHERE c.company_id = l.company_id AND c.kind <> 'send' AND c.worked_at IS NULL AND c.ended_at IS NULL
                    AND c.started_at > leadtap.from_ms($4)
                    AND (NOT (${NO_DELIVERY}) OR ${IS_VISIBLE} AND ${IS_WAITING})) AS "isUndecided"
    FROM leadtap.leads AS l
   WHERE l.company_id = $1 AND l.created_at > leadtap.from_ms($2) AND l.created_at <= leadtap.from_ms($3)
     AND l.created_at = l.automation_created_at
     AND NOT EXISTS (
       SELECT 1 FROM leadtap.deliveries AS d JOIN leadtap.connections AS c ON c.id = d.connection
        WHERE d.created_at = l.created_at AND c.company_id = l.company_id AND c.worked_at IS NOT NULL)
     AND NOT EXISTS (
       SELECT 1 FROM leadtap.connections AS c LEFT JOIN leadtap.users AS u ON u.id = c.user_id AND u.company_id = c.company_id
        WHERE c.company_id = l.company_id AND c.kind <> 'send' AND c.worked_at IS NOT NULL
          AND (NOT (${NOT_MISSED}) OR u.id IS NOT NULL AND ${IS_VISIBLE} AND (${IS_WAITING} OR c.ended_by = 'handled' AND ${IS_MEANT})))
   ORDER BY l.created_at LIMIT 500`;

/** Those of the unassigned leads that one that has worked was sent since. The value: the company. */
export const REMOVE_ASSIGNED = `
  DELETE FROM leadtap.unassigned AS a WHERE a.company_id = $1 AND EXISTS (
    SELECT 1 FROM leadtap.deliveries AS d JOIN leadtap.connections AS c ON c.id = d.connection
     WHERE d.created_at = a.created_at AND c.company_id = a.company_id AND c.worked_at IS NOT NULL)`;

/** Connections keep the number of leads that are deleted by age while they wait for them, or were missed. The values: the leads, company. */
export const countPrunedSql = (dialect: Dialect): string => {
  const isPruned = (time: string) =>
    `${time} IN (SELECT r."createdAt" FROM ${dialect.rows('$1', { createdAt: 'time' })} AS r)`;
  const ofCompany = `c.company_id = $2 AND c.kind <> 'send' AND c.worked_at IS NOT NULL`;
  return `
  UPDATE leadtap.connections AS o SET pruned = o.pruned + p.leads FROM (
    SELECT id, count(*) AS leads FROM (
      SELECT c.id FROM leadtap.connections AS c JOIN leadtap.users AS u ON u.id = c.user_id AND u.company_id = c.company_id
        ${dialect.joinValues(waitingLeads(dialect), 'w')} WHERE ${ofCompany} AND ${isPruned('w.value')}
      UNION ALL
      SELECT c.id FROM leadtap.connections AS c JOIN leadtap.missed AS m ON m.connection = c.id
       WHERE ${ofCompany} AND ${IS_OWED_MISS} AND ${isPruned('m.created_at')}) AS owed
     GROUP BY id) AS p WHERE o.id = p.id`;
};
