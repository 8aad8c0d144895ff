/**
 * The audit: once a minute, on one instance at a time, each company's leads are compared with what was sent. D2 makes it exact for any
 * program that writes rows: behind the last stamp of the run before, no lead appears.
 */
import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Dialect, query, readNow, type SqlDatabase, type SqlTask } from '../sql/sql.ts';
import { addDeliveries, addHours, hourOf, prepareDeliveries } from './deliveries-sql.ts';
import { SELECTED, type StoredConnection, toConnection } from './record-sql.ts';
import {
  MAX_NARROWED,
  movedSql,
  narrowedSql,
  passedSql,
  REMOVE_ASSIGNED,
  unassignedSql,
} from './state-sql.ts';
import type { Connection, MissedReason } from './store.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;
/** Runs of a company begin a minute apart, whichever instance makes them. */
const PAUSE_MS = 50_000;
/** Leads that were there so long ago, and that no automation gets, are unassigned. */
const UNASSIGNED_AFTER_MS = 15 * MINUTE_MS;
/** What was sent to a new connection, or waits for it, is looked at later. */
const UNDECIDED_MS = 180 * MINUTE_MS;
/** A poller without `since` gets a moved lead with its next page; after so long it is missed. */
const MAX_MOVED_WAIT_MS = 2 * DAY_MS;
/** An instance that was not seen for so long has died. */
const DEAD_AFTER_MS = 30_000;
/** What an instance had recorded in so long before its death was not written. */
const UNWRITTEN_MS = 5000;
/** Of one transaction: some milliseconds. */
const MAX_LEADS = 500;
const MAX_CONNECTIONS = 40;

interface AuditRow {
  readonly runs: string;
  readonly assignedThrough: number;
}

type Run = readonly [at: number, lastStamp: number];

/** Leads from before the service first ran are not unassigned. */
const START = `
  INSERT INTO leadtap.audits (company_id, audited_at, runs, assigned_through)
    SELECT c.id, leadtap.from_ms(0), '[]',
           coalesce((SELECT min(i.started_at) FROM leadtap.instances AS i), leadtap.from_ms($2))
      FROM leadtap.companies AS c WHERE c.id = $1
  ON CONFLICT (company_id) DO NOTHING`;
const CLAIM = `
  UPDATE leadtap.audits SET audited_at = leadtap.from_ms($2)
   WHERE company_id = $1 AND (audited_at <= leadtap.from_ms(CAST($2 AS bigint) - ${PAUSE_MS}) OR audited_at > leadtap.from_ms($2))
  RETURNING runs, leadtap.to_ms(assigned_through) AS "assignedThrough"`;
const FINISH = `
  UPDATE leadtap.audits SET runs = $2, assigned_through = leadtap.from_ms($3) WHERE company_id = $1`;
const DEATHS = `
  SELECT leadtap.to_ms(coalesce(dropped_at, seen_at)) AS at FROM leadtap.instances
   WHERE dropped_at IS NOT NULL OR stopped_at IS NULL AND seen_at < leadtap.from_ms(CAST($1 AS bigint) - ${DEAD_AFTER_MS})`;
/** Connections that have asked for something else since the last run, or that it has not audited up to there. */
const LIST_MOVED = `
  SELECT ${SELECTED}, c.is_access_changed AS "isAccessChanged" FROM leadtap.connections AS c
   WHERE c.company_id = $1 AND c.kind <> 'send' AND c.start_stamp IS NOT NULL AND c.id > $2
     AND (c.is_access_changed OR c.kind = 'poll' AND (c.noted_position <> c.position OR c.audited_through < c.position))
   ORDER BY c.id LIMIT ${MAX_CONNECTIONS} FOR UPDATE OF c`;
const LIST_PENDING_MOVES = `
  SELECT p.connection, leadtap.to_ms(p.created_at) AS "createdAt", leadtap.to_ms(p.since) AS since, c.habit
    FROM leadtap.pending_leads AS p JOIN leadtap.connections AS c ON c.id = p.connection
   WHERE c.company_id = $1 AND c.kind = 'poll'`;
const REMOVE_PENDING =
  'DELETE FROM leadtap.pending_leads WHERE connection = $1 AND created_at = leadtap.from_ms($2)';
const ADD_UNASSIGNED = `
  INSERT INTO leadtap.unassigned (company_id, created_at, since) VALUES ($1, leadtap.from_ms($2), leadtap.from_ms($3))
  ON CONFLICT (company_id, created_at) DO NOTHING`;
const MOVES_SEEN = 'UPDATE leadtap.lead_moves SET is_new = false WHERE company_id = $1 AND is_new';
const ACCESS_SEEN = 'UPDATE leadtap.connections SET is_access_changed = false WHERE id = $1';
const SET_AUDITED = `
  UPDATE leadtap.connections SET audited_through = leadtap.from_ms($2), noted_position = leadtap.from_ms($3), habit = $4
   WHERE id = $1`;
const LAST_STAMP = (dialect: Dialect): string =>
  `SELECT leadtap.to_ms(${dialect.lastStampOf('c.id')}) AS "lastStamp" FROM leadtap.companies AS c WHERE c.id = $1`;

const prepareSql = (dialect: Dialect) => ({
  deliveries: prepareDeliveries(dialect),
  lastStamp: LAST_STAMP(dialect),
  passed: passedSql(dialect),
  moved: movedSql(dialect),
  addMissed: `
    INSERT INTO leadtap.missed (connection, created_at, why, missed_at)
      SELECT r.connection, r."createdAt", r.why, r."missedAt" FROM ${dialect.rows('$1', {
        ...{ connection: 'text', createdAt: 'time', why: 'text', missedAt: 'time' },
      })} AS r WHERE true ON CONFLICT (connection, created_at) DO NOTHING`,
  addPending: `
    INSERT INTO leadtap.pending_leads (connection, created_at, why, since, message)
      SELECT r.connection, r."createdAt", r.why, r.since, r.message FROM ${dialect.rows('$1', {
        ...{ connection: 'text', createdAt: 'time', why: 'text', since: 'time', message: 'text' },
      })} AS r WHERE true ON CONFLICT (connection, created_at) DO NOTHING`,
  wakeHooks: `
    UPDATE leadtap.hooks SET check_at = leadtap.from_ms($2)
     WHERE user_id IN (SELECT c.user_id FROM leadtap.connections AS c WHERE ${dialect.isIn('c.id', '$1')})
       AND ${dialect.isIn('connection_id', '$1')} AND (check_at IS NULL OR check_at > leadtap.from_ms($2)) AND failures = 0`,
});

type Statements = ReturnType<typeof prepareSql>;

interface MissedRow {
  readonly connection: string;
  readonly createdAt: number;
  readonly why: MissedReason;
  readonly missedAt: number;
}

interface PendingRow {
  readonly connection: string;
  readonly createdAt: number;
  readonly why: 'moved' | 'again';
  readonly since: number;
  readonly message: string;
}

/** So that a receiver takes a repeated lead for another message. */
export const newMessageId = (): string => randomBytes(9).toString('base64url');

function* addMissed(sql: Statements, rows: readonly MissedRow[]): SqlTask<void> {
  if (rows.length > 0) yield* query(sql.addMissed, [JSON.stringify(rows)]);
}

/** Most of its last polls had no `since`. */
const asksWithoutSince = ({ habit: { styles } }: Connection): boolean =>
  2 * styles.filter((style) => style !== 'none').length <= styles.length;

interface PassedLead {
  readonly createdAt: number;
  readonly movedAt: number | null;
}

interface AuditContext {
  readonly now: number;
  /** The last stamp of the company at the run before. */
  readonly through: number;
  /** When instances died with what they had not written. */
  readonly deaths: readonly number[];
}

/** Returns how many leads it has looked at. What is left is for the next call. */
function* auditPoller(sql: Statements, connection: Connection, context: AuditContext): SqlTask<number> {
  const { id, companyId, position, notedPosition, auditedThrough, habit } = connection;
  const { now, through, deaths } = context;
  if (position === null || auditedThrough === null) return 0;
  const until = Math.min(position, notedPosition ?? position, through);
  const rows =
    until > auditedThrough
      ? yield* query<PassedLead>(sql.passed, [id, auditedThrough, until, MAX_LEADS])
      : [];
  // What was asked for before a death is no receipt of a page that was not written.
  const askedAt = habit.positionAt ?? Number.POSITIVE_INFINITY;
  const missed: MissedRow[] = [];
  const pending: PendingRow[] = [];
  const sent: number[] = [];
  for (const { createdAt, movedAt } of rows) {
    const unwritten = asksWithoutSince(connection)
      ? []
      : deaths.filter((at) => createdAt <= at + UNWRITTEN_MS && askedAt >= at - UNWRITTEN_MS);
    const isReceipt =
      movedAt === null &&
      (habit.jumpedTo === null || createdAt > habit.jumpedTo) &&
      unwritten.some((at) => askedAt > at);
    if (isReceipt) sent.push(createdAt);
    else if (unwritten.length > 0)
      missed.push({ connection: id, createdAt, why: 'not-recorded', missedAt: now });
    else if (movedAt === null) missed.push({ connection: id, createdAt, why: 'passed', missedAt: now });
    else if (asksWithoutSince(connection))
      pending.push({ connection: id, createdAt, why: 'moved', since: movedAt, message: newMessageId() });
    else missed.push({ connection: id, createdAt, why: 'moved', missedAt: now });
  }
  yield* addMissed(sql, missed);
  if (pending.length > 0) yield* query(sql.addPending, [JSON.stringify(pending)]);
  const written = sent.map((createdAt) => ({
    connection: id,
    companyId,
    createdAt,
    sentAt: now,
    mayBeHistory: true,
  }));
  const added = yield* addDeliveries(sql.deliveries, written);
  if (added.length > 0)
    yield* addHours(sql.deliveries, [
      { connection: id, hour: hourOf(now), leads: added.length, updated: 0, failed: 0 },
    ]);
  const isPart = rows.length === MAX_LEADS;
  const audited = isPart ? (rows.at(-1)?.createdAt ?? until) : Math.max(until, auditedThrough);
  // A time that it asked for is audited by the run after the one that saw it.
  const isAudited = habit.jumpedTo !== null && habit.jumpedTo <= audited;
  const next = { ...habit, jumpedTo: isAudited ? null : habit.jumpedTo };
  yield* query(SET_AUDITED, [id, audited, position, JSON.stringify(next)]);
  return rows.length;
}

function* auditAccess(sql: Statements, connection: Connection, now: number): SqlTask<void> {
  const rows = yield* query<{ createdAt: number }>(narrowedSql, [connection.id]);
  yield* addMissed(
    sql,
    rows.map(({ createdAt }) => ({ connection: connection.id, createdAt, why: 'narrowed', missedAt: now })),
  );
  if (rows.length < MAX_NARROWED) yield* query(ACCESS_SEEN, [connection.id]);
}

interface MovedLead {
  readonly id: string;
  readonly createdAt: number;
  readonly movedAt: number;
}

/** A webhook gets a moved lead by itself, a poller without `since` with its next page; another poller is past it. */
function* auditMoves(sql: Statements, companyId: string, now: number): SqlTask<void> {
  const rows = yield* query<MovedLead>(sql.moved, [companyId]);
  if (rows.length > 0) {
    const ids = [...new Set(rows.map(({ id }) => id))];
    const found = new Map<string, Connection>();
    for (const id of ids) {
      const [row] = yield* query<StoredConnection>(FIND_CONNECTION, [id]);
      if (row) found.set(id, toConnection(row));
    }
    const isPushed = (id: string) => {
      const connection = found.get(id);
      return connection !== undefined && (connection.kind === 'webhook' || asksWithoutSince(connection));
    };
    const pending = rows
      .filter(({ id }) => isPushed(id))
      .map(
        ({ id, createdAt, movedAt }): PendingRow => ({
          ...{ connection: id, createdAt, why: 'moved', since: movedAt, message: newMessageId() },
        }),
      );
    if (pending.length > 0) yield* query(sql.addPending, [JSON.stringify(pending)]);
    yield* query(sql.wakeHooks, [ids, now]);
    yield* addMissed(
      sql,
      rows
        .filter(({ id }) => !isPushed(id))
        .map(({ id, createdAt }) => ({ connection: id, createdAt, why: 'moved', missedAt: now })),
    );
  }
  if (rows.length < 2000) yield* query(MOVES_SEEN, [companyId]);
}

export const FIND_CONNECTION = `SELECT ${SELECTED} FROM leadtap.connections AS c WHERE c.id = $1`;

interface PendingMove {
  readonly connection: string;
  readonly createdAt: number;
  readonly since: number;
  readonly habit: string;
}

/** Its next page did not have the lead. */
function* auditPendingMoves(sql: Statements, companyId: string, now: number): SqlTask<void> {
  for (const { connection, createdAt, since, habit } of yield* query<PendingMove>(LIST_PENDING_MOVES, [
    companyId,
  ])) {
    const { pageFrom }: Connection['habit'] = JSON.parse(habit);
    const isPassed = pageFrom !== null && pageFrom[1] > since && pageFrom[0] > createdAt;
    if (!isPassed && now - since <= MAX_MOVED_WAIT_MS) continue;
    yield* addMissed(sql, [{ connection, createdAt, why: 'moved', missedAt: now }]);
    yield* query(REMOVE_PENDING, [connection, createdAt]);
  }
}

function* auditUnassigned(
  companyId: string,
  {
    assignedThrough,
    now,
    runs,
  }: { readonly assignedThrough: number; readonly now: number; readonly runs: readonly Run[] },
): SqlTask<number> {
  yield* query(REMOVE_ASSIGNED, [companyId]);
  const old = runs.filter(([at]) => at <= now - UNASSIGNED_AFTER_MS).at(-1);
  if (!old || old[1] <= assignedThrough) return assignedThrough;
  const rows = yield* query<{ createdAt: number; isUndecided: boolean | number }>(unassignedSql, [
    companyId,
    assignedThrough,
    old[1],
    now - UNDECIDED_MS,
  ]);
  for (const { createdAt, isUndecided } of rows) {
    if (isUndecided) return createdAt - 1;
    yield* query(ADD_UNASSIGNED, [companyId, createdAt, now]);
  }
  return rows.length === MAX_LEADS ? (rows.at(-1)?.createdAt ?? old[1]) : old[1];
}

/** One run of the audit of a company, in small transactions: false if one was made less than a minute ago. */
export async function auditCompany(database: SqlDatabase, companyId: string): Promise<boolean> {
  const sql = prepareSql(database.dialect);
  const begun = await database.write(function* () {
    const now = yield* readNow();
    const [company] = yield* query<{ lastStamp: number | null }>(sql.lastStamp, [companyId]);
    if (!company) return undefined;
    const lastStamp = company.lastStamp ?? 0;
    yield* query(START, [companyId, lastStamp]);
    const [audit] = yield* query<AuditRow>(CLAIM, [companyId, now]);
    if (!audit) return undefined;
    const runs: Run[] = JSON.parse(audit.runs);
    const deaths = yield* query<{ at: number }>(DEATHS, [now]);
    return {
      now,
      lastStamp,
      runs,
      assignedThrough: audit.assignedThrough,
      deaths: deaths.map(({ at }) => at),
    };
  });
  if (!begun) return false;
  const { now, lastStamp, runs, deaths } = begun;
  const context = { now, through: runs.at(-1)?.[1] ?? 0, deaths };
  let after = '';
  for (;;) {
    const last = await database.write(function* () {
      const rows = yield* query<StoredConnection & { isAccessChanged: boolean | number }>(LIST_MOVED, [
        companyId,
        after,
      ]);
      let leads = 0;
      for (const { isAccessChanged, ...row } of rows) {
        const connection = toConnection(row);
        if (isAccessChanged) yield* auditAccess(sql, connection, now);
        if (connection.kind === 'poll') leads += yield* auditPoller(sql, connection, context);
        // The rest of it in the next transaction.
        if (leads >= MAX_LEADS) return { after: row.id, isEnd: false };
      }
      return { after: rows.at(-1)?.id ?? '', isEnd: rows.length < MAX_CONNECTIONS };
    });
    if (last.isEnd) break;
    after = last.after;
    await nextTurn();
  }
  await database.write(function* () {
    yield* auditMoves(sql, companyId, now);
    yield* auditPendingMoves(sql, companyId, now);
    const assigned = yield* auditUnassigned(companyId, { ...begun, now });
    const kept = [...runs, [now, lastStamp] as const].filter(
      ([at]) => at > now - UNASSIGNED_AFTER_MS - 2 * MINUTE_MS && at <= now,
    );
    yield* query(FINISH, [companyId, JSON.stringify(kept), assigned]);
  });
  return true;
}
