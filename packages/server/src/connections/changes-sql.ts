/** What a person changes of a connection: handled, paused, renamed, ended, sent again. Each is logged. */
import { type Dialect, isStorable, query, queryInChunks, readNow, type SqlTask } from '../sql/sql.ts';
import { newMessageId } from './audit-sql.ts';
import { listFacts, prepareList } from './list-sql.ts';
import type { LogDetails } from './log.ts';
import { SELECTED, type StoredConnection, toConnection } from './record-sql.ts';
import type { Connection, ConnectionFacts, ConnectionListQuery } from './store.ts';

const LOCK = `SELECT ${SELECTED} FROM leadtap.connections AS c WHERE c.id = $1 FOR UPDATE OF c`;

/** Hooks: of the connection that is the first value. */
const IS_OF_CONNECTION =
  'user_id = (SELECT c.user_id FROM leadtap.connections AS c WHERE c.id = $1) AND connection_id = $1';

export const prepareChanges = (dialect: Dialect) => ({
  facts: prepareList(dialect),
  lastStamp: `
    SELECT leadtap.to_ms(${dialect.lastStampOf('c.company_id')}) AS "lastStamp" FROM leadtap.connections AS c WHERE c.id = $1`,
  addPending: `
    INSERT INTO leadtap.pending_leads AS p (connection, created_at, why, since, message)
      SELECT r.connection, l.created_at, 'again', r.since, r.message FROM ${dialect.rows('$1', {
        ...{ connection: 'text', companyId: 'text', lead: 'text', since: 'time', message: 'text' },
      })} AS r
        ${dialect.joinEach('leads', 'l', 'l.company_id = r."companyId" AND l.id = r.lead', 'leads_by_id')}
       WHERE true
      ON CONFLICT (connection, created_at) DO UPDATE SET message = excluded.message, why = 'again'
      RETURNING 1`,
  wakeHooks: `UPDATE leadtap.hooks SET check_at = leadtap.from_ms($2) WHERE ${IS_OF_CONNECTION} AND disabled_at IS NULL`,
});

type Statements = ReturnType<typeof prepareChanges>;

const HANDLE_MISSED = `UPDATE leadtap.missed SET handled_at = leadtap.from_ms($2) WHERE connection = $1 AND handled_at IS NULL`;
const HANDLE_LOST = 'DELETE FROM leadtap.lost_requests WHERE connection = $1';
const DROP_PENDING = 'DELETE FROM leadtap.pending_leads WHERE connection = $1';
const END = `
  UPDATE leadtap.connections SET ended_at = coalesce(ended_at, leadtap.from_ms($2)), ended_by = $3, end_stamp = leadtap.from_ms($4)
   WHERE id = $1`;
const PASS_ALL = `
  UPDATE leadtap.connections SET position = leadtap.from_ms($2), audited_through = leadtap.from_ms($2),
         noted_position = leadtap.from_ms($2), ahead = NULL, ahead_since = NULL
   WHERE id = $1 AND start_stamp IS NOT NULL`;
const RESET_PRUNED = 'UPDATE leadtap.connections SET pruned = 0 WHERE id = $1';
const PAUSE = 'UPDATE leadtap.connections SET paused_at = leadtap.from_ms($2), paused_by = $3 WHERE id = $1';
const RENAME = 'UPDATE leadtap.connections SET name = $2 WHERE id = $1';
const RENAME_KEY = `UPDATE leadtap.connections SET key = 'n:' || name WHERE id = $1`;
const FIND_NAME = `SELECT 1 FROM leadtap.connections WHERE user_id = $1 AND kind = $2 AND key = 'n:' || $3 AND id <> $4`;
const RENAME_TOKENS = `
  UPDATE leadtap.issued_tokens SET name = $2 WHERE user_id = $1 AND (('n:' || name) = $3 OR ('t:' || id) = $3) RETURNING 1`;
const RENAME_HOOKS = `UPDATE leadtap.hooks SET name = $2 WHERE ${IS_OF_CONNECTION} RETURNING 1`;
const REVOKE_TOKENS = `
  INSERT INTO leadtap.revoked_tokens (token_id, revoked_at)
    SELECT t.id, leadtap.from_ms($3) FROM leadtap.issued_tokens AS t
     WHERE t.user_id = $1 AND (('n:' || t.name) = $2 OR ('t:' || t.id) = $2)
  ON CONFLICT (token_id) DO NOTHING RETURNING 1`;
const REMOVE_HOOKS = `DELETE FROM leadtap.hooks WHERE ${IS_OF_CONNECTION} RETURNING 1`;
const KEY_OF = 'SELECT key FROM leadtap.connections WHERE id = $1';
const LOG = `
  INSERT INTO leadtap.activity (connection, first_at, last_at, times, kind, leads, after, through, reason, details)
    VALUES ($1, leadtap.from_ms($2), leadtap.from_ms($2), 1, 'changed', 0, NULL, NULL, NULL, $3)
  ON CONFLICT (connection, first_at) DO NOTHING`;
const SET_ENTRY = 'UPDATE leadtap.connections SET habit = $2 WHERE id = $1';
const MISSED_OF = `
  SELECT l.id FROM leadtap.missed AS m JOIN leadtap.connections AS c ON c.id = m.connection
    JOIN leadtap.leads AS l ON l.company_id = c.company_id AND l.created_at = m.created_at
   WHERE m.connection = $1 AND m.handled_at IS NULL
     AND NOT EXISTS (SELECT 1 FROM leadtap.deliveries AS d WHERE d.created_at = m.created_at AND d.connection = m.connection)
   ORDER BY m.created_at LIMIT 1000`;

function* lockConnection(id: string): SqlTask<Connection | undefined> {
  if (!isStorable(id)) return undefined;
  const [row] = yield* query<StoredConnection>(LOCK, [id]);
  return row && toConnection(row);
}

function* logChange({ id, habit }: Connection, now: number, change: string): SqlTask<void> {
  const at = Math.max(now, (habit.entry?.[0] ?? 0) + 1);
  const details: LogDetails = { status: null, code: null, durationMs: null, change };
  yield* query(LOG, [id, at, JSON.stringify(details)]);
  yield* query(SET_ENTRY, [id, JSON.stringify({ ...habit, entry: [at, change] })]);
}

/**
 * What it missed or lost is owed no more. What waits is taken only if `decide` says so: then it was switched off on purpose, and is ended
 * until it asks again. The row is locked before anything is read: a poll or an audit at the same time comes before, or after.
 */
export function* markHandled(
  sql: Statements,
  list: ConnectionListQuery & { readonly id: string },
  decide: (facts: ConnectionFacts) => boolean,
  by: string,
): SqlTask<boolean> {
  const { id } = list;
  const connection = yield* lockConnection(id);
  const [facts] = connection ? yield* listFacts(sql.facts, list) : [];
  if (!connection || !facts) return false;
  const endsWaiting = decide(facts);
  const now = yield* readNow();
  yield* query(HANDLE_MISSED, [id, now]);
  yield* query(HANDLE_LOST, [id]);
  yield* query(RESET_PRUNED, [id]);
  if (endsWaiting && connection.kind !== 'send') {
    const [row] = yield* query<{ lastStamp: number | null }>(sql.lastStamp, [id]);
    yield* query(DROP_PENDING, [id]);
    yield* query(PASS_ALL, [id, row?.lastStamp ?? 0]);
    yield* query(END, [id, now, 'handled', row?.lastStamp ?? 0]);
  }
  yield* logChange(connection, now, `marked as handled by ${by}`);
  return true;
}

/** Its keys do not work any more. One that never worked owes nothing. */
export function* endConnection(sql: Statements, id: string, endedBy: string): SqlTask<boolean> {
  const connection = yield* lockConnection(id);
  if (!connection || connection.endedAt !== null) return false;
  const now = yield* readNow();
  const [row] = yield* query<{ lastStamp: number | null }>(sql.lastStamp, [id]);
  const endStamp = connection.workedAt === null ? (connection.startStamp ?? 0) : (row?.lastStamp ?? 0);
  yield* query(END, [id, now, endedBy, endStamp]);
  yield* logChange(connection, now, `ended: ${endedBy}`);
  return true;
}

/** A person ends it. */
export function* endKeys(
  sql: Statements,
  id: string,
  by: string,
): SqlTask<{ readonly tokens: number; readonly hooks: number }> {
  const connection = yield* lockConnection(id);
  const [row] = yield* query<{ key: string }>(KEY_OF, [id]);
  if (!connection || !row) return { tokens: 0, hooks: 0 };
  const tokens =
    connection.kind === 'webhook'
      ? []
      : yield* query(REVOKE_TOKENS, [connection.userId, row.key, yield* readNow()]);
  const hooks = yield* query(REMOVE_HOOKS, [id]);
  yield* endConnection(sql, id, `by ${by}`);
  return { tokens: tokens.length, hooks: hooks.length };
}

export function* setPaused(sql: Statements, id: string, paused: boolean, by: string): SqlTask<boolean> {
  const connection = yield* lockConnection(id);
  if (connection?.kind !== 'webhook') return false;
  const now = yield* readNow();
  yield* query(PAUSE, [id, paused ? now : null, paused ? by : null]);
  yield* query(sql.wakeHooks, [id, now]);
  yield* logChange(connection, now, `${paused ? 'paused' : 'resumed'} by ${by}`);
  return true;
}

/** Its keys get the name, too. */
export function* renameConnection(
  id: string,
  name: string,
  by: string,
): SqlTask<'renamed' | 'unknown' | 'name-in-use'> {
  const connection = yield* lockConnection(id);
  if (!connection || !isStorable(name)) return 'unknown';
  const used = yield* query(FIND_NAME, [connection.userId, connection.kind, name, id]);
  if (used.length > 0) return 'name-in-use';
  const [row] = yield* query<{ key: string }>(KEY_OF, [id]);
  const renamed =
    connection.kind === 'webhook'
      ? yield* query(RENAME_HOOKS, [id, name])
      : yield* query(RENAME_TOKENS, [connection.userId, name, row?.key ?? '']);
  yield* query(RENAME, [id, name]);
  // A token of an identity provider has no name of its own: it is known by what it was.
  if (renamed.length > 0) yield* query(RENAME_KEY, [id]);
  yield* logChange(connection, yield* readNow(), `renamed from ${connection.name} by ${by}`);
  return 'renamed';
}

/** Leads for a webhook, beside the new ones: those with these ids, or all that it missed. Returns their number. */
export function* sendAgain(
  sql: Statements,
  id: string,
  leads: readonly string[] | 'missed',
  by: string,
): SqlTask<number | undefined> {
  const connection = yield* lockConnection(id);
  if (connection?.kind !== 'webhook') return undefined;
  const now = yield* readNow();
  const ids =
    leads === 'missed' ? (yield* query<{ id: string }>(MISSED_OF, [id])).map((row) => row.id) : leads;
  const rows = [...new Set(ids)].filter(isStorable).map((lead) => ({
    ...{ connection: id, companyId: connection.companyId, lead, since: now, message: newMessageId() },
  }));
  const added = rows.length === 0 ? [] : yield* queryInChunks(sql.addPending, rows);
  yield* query(sql.wakeHooks, [id, now]);
  if (added.length > 0) yield* logChange(connection, now, `${added.length} leads are sent again for ${by}`);
  return added.length;
}
