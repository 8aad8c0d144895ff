/** Connections in a database. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DOOR_ID } from '@leadtap/contract';
import type { LeadScope } from '../leads/record.ts';
import {
  type Dialect,
  isStorable,
  query,
  readNow,
  type SqlDatabase,
  type SqlTask,
  type TaskOptions,
} from '../sql/sql.ts';
import { auditCompany, FIND_CONNECTION } from './audit-sql.ts';
import {
  endConnection,
  endKeys,
  markHandled,
  prepareChanges,
  renameConnection,
  sendAgain,
  setPaused,
} from './changes-sql.ts';
import { hourOf } from './deliveries-sql.ts';
import { listFacts, prepareList } from './list-sql.ts';
import type { LogDetails } from './log.ts';
import {
  findConnections,
  prepareRecord,
  recordBatches,
  resolveKeys,
  type StoredConnection,
  toConnection,
} from './record-sql.ts';
import { countPrunedSql, leadStateSql, listOwedSql } from './state-sql.ts';
import type { ConnectionStore, LeadOutcome, StoredLogEntry, TimeSpan, UnassignedLeads } from './store.ts';

/** The recorder tries again soon, and lists wait for it. */
const SHORT: TaskOptions = { timeout: 'short' };
const DAY_MS = 86_400_000;
const DELIVERIES_KEPT_MS = 90 * DAY_MS;
const HOURS_KEPT = 31 * 24;
/** Older hours are counted by day. */
const HOURS_APART = 48;
const MAX_ENTRIES = 100;
/** After the last sign of an instance, it is counted as running for so long. */
const SEEN_FOR_MS = 15_000;

const LIST_COMPANIES = 'SELECT id FROM leadtap.companies WHERE id > $1 ORDER BY id LIMIT 200';
const LIST_UNASSIGNED = `
  SELECT a.company_id AS "companyId", count(*) AS leads, leadtap.to_ms(min(a.created_at)) AS since FROM leadtap.unassigned AS a
   WHERE CAST($1 AS text) IS NULL OR a.company_id = $1 GROUP BY a.company_id ORDER BY a.company_id`;
const LIST_LOG = `
  SELECT leadtap.to_ms(a.first_at) AS "firstAt", leadtap.to_ms(a.last_at) AS "lastAt", a.times, a.kind, a.leads,
         leadtap.to_ms(a.after) AS after, leadtap.to_ms(a.through) AS through, a.reason, a.details
    FROM leadtap.activity AS a WHERE a.connection = $1 AND a.first_at < leadtap.from_ms($2)
   ORDER BY a.first_at DESC LIMIT $3`;
const LAST_TIME = Date.UTC(9999, 0);
const LIST_UNASSIGNED_LEADS = `
  SELECT leadtap.to_ms(a.created_at) AS "createdAt" FROM leadtap.unassigned AS a
   WHERE a.company_id = $1 AND a.created_at < leadtap.from_ms($2) ORDER BY a.created_at DESC LIMIT $3`;
const isIn = ({ level }: LeadScope): string =>
  level === 'COMPANY' ? '' : level === 'BRANCH' ? 'AND l.branch_id = $3' : 'AND l.department_id = $3';
const placeOf = (scope: LeadScope): readonly string[] =>
  scope.level === 'COMPANY' ? [] : [scope.level === 'BRANCH' ? scope.branchId : scope.departmentId];

/** The entries of a log are of its newest 100 rows. */
const PRUNE_LOG = `
  DELETE FROM leadtap.activity AS a WHERE a.connection = $1 AND a.first_at < (
    SELECT o.first_at FROM leadtap.activity AS o WHERE o.connection = $1 ORDER BY o.first_at DESC LIMIT 1 OFFSET ${MAX_ENTRIES - 1})`;
const LONG_LOGS = `SELECT connection AS id FROM leadtap.activity GROUP BY connection HAVING count(*) > ${MAX_ENTRIES} LIMIT 500`;
const PRUNE_DELIVERIES = `
  DELETE FROM leadtap.deliveries WHERE (created_at, connection) IN (
    SELECT created_at, connection FROM leadtap.deliveries
     WHERE created_at < leadtap.from_ms($1) AND sent_at < leadtap.from_ms($1) LIMIT 2000) RETURNING 1`;
const JOIN_HOURS = `
  INSERT INTO leadtap.activity_hours AS h (connection, hour, leads, updated, failed)
    SELECT o.connection, o.hour / 24 * 24, sum(o.leads), sum(o.updated), sum(o.failed) FROM leadtap.activity_hours AS o
     WHERE o.hour < $1 AND o.hour % 24 <> 0 GROUP BY o.connection, o.hour / 24
  ON CONFLICT (connection, hour) DO UPDATE SET leads = h.leads + excluded.leads, updated = h.updated + excluded.updated,
    failed = h.failed + excluded.failed`;
const PRUNE_JOINED = 'DELETE FROM leadtap.activity_hours WHERE hour < $1 AND hour % 24 <> 0';
const PRUNE_HOURS = 'DELETE FROM leadtap.activity_hours WHERE hour < $1';
const PRUNE_INSTANCES = 'DELETE FROM leadtap.instances WHERE seen_at < leadtap.from_ms($1)';
const PRUNE_MOVES =
  'DELETE FROM leadtap.lead_moves WHERE created_at < leadtap.from_ms($1) AND moved_at < leadtap.from_ms($1)';
const NOTE_INSTANCE = {
  started: `INSERT INTO leadtap.instances (id, started_at, seen_at) VALUES ($1, leadtap.from_ms($2), leadtap.from_ms($2))
    ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`,
  seen: 'UPDATE leadtap.instances SET seen_at = leadtap.from_ms($2) WHERE id = $1',
  stopped:
    'UPDATE leadtap.instances SET seen_at = leadtap.from_ms($2), stopped_at = leadtap.from_ms($2) WHERE id = $1',
  dropped:
    'UPDATE leadtap.instances SET seen_at = leadtap.from_ms($2), dropped_at = leadtap.from_ms($2) WHERE id = $1',
};
const LIST_INSTANCES = `
  SELECT leadtap.to_ms(started_at) AS "from", leadtap.to_ms(coalesce(stopped_at, seen_at)) AS until,
         stopped_at IS NOT NULL AS "isStopped"
    FROM leadtap.instances WHERE seen_at > leadtap.from_ms($1) ORDER BY started_at`;

interface LogRow extends StoredLogEntry {
  readonly after: number | null;
  readonly through: number | null;
}

/** For the transactions that delete leads. */
export function createRemovalRecords(dialect: Dialect) {
  const countPruned = countPrunedSql(dialect);
  const forgetReasons = `
    UPDATE leadtap.activity SET reason = NULL WHERE first_at < leadtap.from_ms($2) AND reason IS NOT NULL AND connection IN (
      SELECT c.id FROM leadtap.connections AS c WHERE ${dialect.isIn('c.company_id', '$1')})`;
  return {
    *countPruned(companyId: string, leads: readonly { readonly createdAt: number }[]): SqlTask<void> {
      yield* query(countPruned, [JSON.stringify(leads), companyId]);
    },
    *forgetReasons(companyIds: readonly string[], before: number = LAST_TIME): SqlTask<void> {
      yield* query(forgetReasons, [companyIds, before]);
    },
  };
}

export function createConnectionStore(database: SqlDatabase): ConnectionStore {
  const { dialect, read, write } = database;
  const sql = { ...prepareRecord(dialect), ...prepareList(dialect), changes: prepareChanges(dialect) };
  const owed = listOwedSql(dialect);
  /** The values: company, entries, place. */
  const leadsOfLog = (scope: LeadScope): string => `
    SELECT r.number, l.id FROM ${dialect.rows('$2', { number: 'integer', connection: 'text', after: 'time', through: 'time' })} AS r
      ${dialect.joinEach('leads', 'l', 'l.company_id = $1 AND l.created_at > r.after AND l.created_at <= r.through')}
     WHERE EXISTS (SELECT 1 FROM leadtap.deliveries AS d WHERE d.created_at = l.created_at AND d.connection = r.connection)
       ${isIn(scope)} LIMIT 5000`;

  return {
    record: (batches) => write(() => recordBatches(sql, batches), SHORT),

    findByKey: (key) =>
      read(function* () {
        const [resolved] = yield* resolveKeys(sql, [key]);
        if (!resolved) return undefined;
        const [found] = (yield* findConnections(sql.find, [{ ...key, key: resolved.key }])).values();
        return found;
      }, SHORT),

    find: (id) =>
      read(function* () {
        const [row] = isStorable(id) ? yield* query<StoredConnection>(FIND_CONNECTION, [id]) : [];
        return row && toConnection(row);
      }, SHORT),

    async list(list) {
      if (![list.companyId, list.userId, list.after].every((text) => isStorable(text ?? ''))) return [];
      return read(() => listFacts(sql, list), SHORT);
    },

    findLead: (companyId, leadId, scope) =>
      read(function* () {
        if (!isStorable(leadId)) return undefined;
        const known = `SELECT 1 FROM leadtap.leads AS l WHERE l.company_id = $1 AND l.id = $2 ${isIn(scope)}`;
        const found = yield* query(known, [companyId, leadId, ...placeOf(scope)]);
        if (found.length === 0) return undefined;
        const rows = yield* query<LeadOutcome & { isVisible: boolean | number }>(leadStateSql, [
          companyId,
          leadId,
        ]);
        return rows.map((row) => ({ ...row, isVisible: Boolean(row.isVisible) }));
      }, SHORT),

    readLog: (id, { before = LAST_TIME, limit, scope }) =>
      read(function* () {
        if (!isStorable(id)) return [];
        const rows = yield* query<LogRow>(LIST_LOG, [id, before, limit]);
        const ranges = rows.flatMap(({ after, through, details }, number) => {
          const { beside = [] }: LogDetails = JSON.parse(details);
          const single = beside.map((stamp) => ({
            number,
            connection: id,
            after: stamp - 1,
            through: stamp,
          }));
          return after === null ? single : [{ number, connection: id, after, through }];
        });
        const leads = yield* query<{ number: number; id: string }>(leadsOfLog(scope), [
          scope.companyId,
          JSON.stringify(ranges),
          ...placeOf(scope),
        ]);
        const idsOf = new Map<number, string[]>();
        for (const lead of leads) idsOf.set(lead.number, [...(idsOf.get(lead.number) ?? []), lead.id]);
        return rows.map(({ after: _, through: __, ...entry }, number) => ({
          ...entry,
          leadIds: idsOf.get(number) ?? [],
        }));
      }, SHORT),

    listOwed: (id, before = LAST_TIME, limit) =>
      read(function* () {
        const rows = yield* query<{ createdAt: number }>(owed, [id, before, limit]);
        return rows.map(({ createdAt }) => createdAt);
      }, SHORT),

    listUnassignedLeads: (companyId, before = LAST_TIME, limit) =>
      read(function* () {
        const rows = yield* query<{ createdAt: number }>(LIST_UNASSIGNED_LEADS, [companyId, before, limit]);
        return rows.map(({ createdAt }) => createdAt);
      }, SHORT),

    listUnassigned: (companyId) =>
      read(function* () {
        const rows = yield* query<UnassignedLeads>(LIST_UNASSIGNED, [companyId ?? null]);
        return rows.map((row) => ({ ...row, leads: Number(row.leads) }));
      }, SHORT),

    countLeads: (scope, since, limit) =>
      read(function* () {
        const of = scope === undefined ? '' : `AND l.company_id = $2 ${isIn(scope)}`;
        const leads = `
          SELECT l.created_at AS at FROM leadtap.companies AS c
            ${dialect.joinEach('leads', 'l', 'l.company_id = c.id AND l.created_at > leadtap.from_ms($1)')}
           WHERE l.created_at = l.automation_created_at ${of} LIMIT ${Math.trunc(limit)}`;
        const values = scope === undefined ? [since] : [since, scope.companyId, ...placeOf(scope)];
        const [row] = yield* query<{ leads: number; firstAt: number | null }>(
          `SELECT count(*) AS leads, leadtap.to_ms(min(at)) AS "firstAt" FROM (${leads}) AS counted`,
          values,
        );
        return { leads: Number(row?.leads ?? 0), firstAt: row?.firstAt ?? null };
      }, SHORT),

    markHandled: (list, decide, by) => write(() => markHandled(sql.changes, list, decide, by), SHORT),
    async handleUnassigned(companyId) {
      await write(() => query('DELETE FROM leadtap.unassigned WHERE company_id = $1', [companyId]), SHORT);
    },
    async handleDoor() {
      await write(() => query('DELETE FROM leadtap.lost_requests WHERE connection = $1', [DOOR_ID]), SHORT);
    },
    rename: (id, name, by) => write(() => renameConnection(id, name, by), SHORT),
    setPaused: (id, paused, by) => write(() => setPaused(sql.changes, id, paused, by), SHORT),
    end: (id, endedBy) => write(() => endConnection(sql.changes, id, endedBy), SHORT),
    endKeys: (id, by) => write(() => endKeys(sql.changes, id, by), SHORT),
    sendAgain: (id, leads, by) => write(() => sendAgain(sql.changes, id, leads, by), SHORT),

    async audit(signal) {
      for (let after = ''; ; ) {
        const companies = await read(() => query<{ id: string }>(LIST_COMPANIES, [after]), SHORT);
        for (const { id } of companies) {
          if (signal?.aborted) return;
          await auditCompany(database, id);
          await nextTurn();
        }
        const last = companies.at(-1);
        if (!last) return;
        after = last.id;
      }
    },

    async prune() {
      const now = await read(readNow, SHORT);
      for (;;) {
        const deleted = await write(() => query(PRUNE_DELIVERIES, [now - DELIVERIES_KEPT_MS]), SHORT);
        if (deleted.length === 0) break;
        await nextTurn();
      }
      await write(function* () {
        const apart = hourOf(now) - HOURS_APART;
        yield* query(JOIN_HOURS, [apart]);
        yield* query(PRUNE_JOINED, [apart]);
        yield* query(PRUNE_HOURS, [hourOf(now) - HOURS_KEPT]);
        yield* query(PRUNE_INSTANCES, [now - 31 * DAY_MS]);
        yield* query(PRUNE_MOVES, [now - DELIVERIES_KEPT_MS]);
        for (const { id } of yield* query<{ id: string }>(LONG_LOGS)) yield* query(PRUNE_LOG, [id]);
      }, SHORT);
    },

    async noteInstance(id, event) {
      await write(function* () {
        yield* query(NOTE_INSTANCE[event], [id, yield* readNow()]);
      }, SHORT);
    },

    async listDeadTimes(since) {
      const rows = await read(
        () => query<TimeSpan & { isStopped: boolean | number }>(LIST_INSTANCES, [since]),
        SHORT,
      );
      return gapsBetween(
        rows.map(({ from, until, isStopped }) => ({ from, until: until + (isStopped ? 0 : SEEN_FOR_MS) })),
      );
    },
  };
}

/** The times between spans that are sorted by their start. */
function gapsBetween(spans: readonly TimeSpan[]): TimeSpan[] {
  const gaps: TimeSpan[] = [];
  let until = spans[0]?.until ?? 0;
  for (const span of spans) {
    if (span.from > until) gaps.push({ from: until, until: span.from });
    until = Math.max(until, span.until);
  }
  return gaps;
}
