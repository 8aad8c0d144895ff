/** Webhooks that send leads, as keys of connections. What they do is stored in the transactions of their hooks. */
import { type Dialect, lock, query, type SqlTask } from '../sql/sql.ts';
import { endConnection, prepareChanges, renameConnection } from './changes-sql.ts';
import { addDeliveries, addHours, endPending, hourOf } from './deliveries-sql.ts';
import { begin, newConnection, startsAgain } from './polls.ts';
import {
  findConnections,
  newConnectionId,
  prepareRecord,
  SELECTED,
  type StoredConnection,
  toConnection,
  toStored,
} from './record-sql.ts';
import type { Connection, PendingLead } from './store.ts';

/** A subscription that sends leads. */
export interface Webhook {
  /** Null: it has none yet. */
  readonly connectionId: string | null;
  readonly companyId: string;
  readonly userId: string;
  readonly tokenId: string | null;
  readonly tokenExpiresAt: number | null;
  readonly name: string | null;
  readonly host: string;
  /** It ends with the webhook. */
  readonly hasOwnToken: boolean;
  /** Where it is, or starts unless its connection goes on. */
  readonly position: number;
  /** It exists, or a `since` was given. */
  readonly isPositionFixed: boolean;
}

/** What a receiver has accepted of one webhook. */
export interface PushedLeads {
  readonly connection: string;
  readonly companyId: string;
  readonly createdAt: readonly number[];
  /** Those that were sent beside the new ones. */
  readonly pending: readonly PendingLead[];
}

const OF_CONNECTION = 'h.user_id = c.user_id AND h.connection_id = c.id';
const IS_REVOKED = 'EXISTS (SELECT 1 FROM leadtap.revoked_tokens AS r WHERE r.token_id = h.token_id)';

/** Of a hook `h`. */
export const HAS_PENDING =
  'EXISTS (SELECT 1 FROM leadtap.pending_leads AS p WHERE p.connection = h.connection_id)';
export const IS_PAUSED =
  'EXISTS (SELECT 1 FROM leadtap.connections AS p WHERE p.id = h.connection_id AND p.paused_at IS NOT NULL)';

const FIND = `SELECT ${SELECTED} FROM leadtap.connections AS c WHERE c.id = $1 FOR UPDATE OF c`;
const FIND_TOKEN_NAME = 'SELECT t.name FROM leadtap.issued_tokens AS t WHERE t.user_id = $1 AND t.id = $2';
const SET_COMPANY = 'UPDATE leadtap.connections SET company_id = $2 WHERE id = $1';
const DROP_PENDING = 'DELETE FROM leadtap.pending_leads WHERE connection = $1';
const LOCK_OF_USER = `
  SELECT 1 FROM leadtap.connections AS c WHERE c.user_id = $1 AND c.kind = 'webhook' ORDER BY c.id FOR UPDATE OF c`;
const LOCK_OF_HOOK = `
  SELECT 1 FROM leadtap.connections AS c
   WHERE c.id = (SELECT h.connection_id FROM leadtap.hooks AS h WHERE h.id = $1) FOR UPDATE OF c`;
const COUNT_HOOKS = `
  SELECT count(*) AS hooks, c.user_id AS "userId", c.name FROM leadtap.connections AS c JOIN leadtap.hooks AS h ON ${OF_CONNECTION}
   WHERE c.id = $1 GROUP BY c.id`;

export const prepareWebhooks = (dialect: Dialect) => ({
  record: prepareRecord(dialect),
  changes: prepareChanges(dialect),
  lock: `SELECT 1 FROM leadtap.connections AS c WHERE ${dialect.isIn('c.id', '$1')} ORDER BY c.id FOR UPDATE OF c`,
  /** The slowest of its webhooks that can send says where it is. One that was switched off on purpose sends again. */
  move: `
    UPDATE leadtap.connections AS c
       SET position = coalesce((
             SELECT min(h.announced_through) FROM leadtap.hooks AS h WHERE ${OF_CONNECTION} AND h.disabled_at IS NULL
                AND (h.token_expires_at IS NULL OR h.token_expires_at > leadtap.from_ms($2))), c.position),
           worked_at = coalesce(c.worked_at, leadtap.from_ms($2)),
           ended_at = CASE WHEN c.ended_by = 'handled' THEN NULL ELSE c.ended_at END,
           end_stamp = CASE WHEN c.ended_by = 'handled' THEN NULL ELSE c.end_stamp END,
           ended_by = CASE WHEN c.ended_by = 'handled' THEN NULL ELSE c.ended_by END
     WHERE ${dialect.isIn('c.id', '$1')}`,
  endPending: `
    DELETE FROM leadtap.pending_leads WHERE (connection, created_at, message) IN (
      SELECT r.connection, r."createdAt", r.message FROM ${dialect.rows('$1', {
        ...{ connection: 'text', createdAt: 'time', message: 'text' },
      })} AS r)`,
  /** Those that have no webhook any more that could send. */
  findUnused: `
    SELECT c.id FROM leadtap.connections AS c
     WHERE ${dialect.isIn('c.id', '$1')} AND c.kind = 'webhook' AND c.ended_at IS NULL AND NOT EXISTS (
       SELECT 1 FROM leadtap.hooks AS h WHERE ${OF_CONNECTION} AND h.disabled_at IS NULL AND NOT ${IS_REVOKED})
     ORDER BY c.id`,
});

export type WebhookStatements = ReturnType<typeof prepareWebhooks>;

/** Before the hooks: all transactions take these locks in this order, so that they cannot deadlock. */
export function* lockWebhooks(sql: WebhookStatements, ids: readonly string[]): SqlTask<void> {
  if (ids.length > 0) yield* lock(sql.lock, [ids]);
}
export const lockWebhooksOfUser = (userId: string): SqlTask<void> => lock(LOCK_OF_USER, [userId]);
export const lockWebhookOf = (hookId: string): SqlTask<void> => lock(LOCK_OF_HOOK, [hookId]);

const nameOfKey = (tokenName: string | null, { name, host, hasOwnToken }: Webhook): string =>
  name ?? (hasOwnToken ? null : tokenName) ?? host;

function keyOfWebhook(tokenName: string | null, webhook: Webhook): string {
  const { name, host, hasOwnToken, tokenId } = webhook;
  if (name !== null || (tokenName !== null && !hasOwnToken)) return `n:${nameOfKey(tokenName, webhook)}`;
  return hasOwnToken ? `h:${host}` : `h:${host} ${tokenId ?? ''}`;
}

/**
 * The connection of a webhook, and where the webhook starts. One that is made again within a day goes on where its connection was: what
 * waited, and what came in between, is sent.
 */
export function* connectWebhook(
  sql: WebhookStatements,
  webhook: Webhook,
  now: number,
): SqlTask<{ readonly connectionId: string; readonly position: number }> {
  const { companyId, userId, tokenId, tokenExpiresAt, position, isPositionFixed } = webhook;
  const [token] = yield* query<{ name: string | null }>(FIND_TOKEN_NAME, [userId, tokenId ?? '']);
  const tokenName = token?.name ?? null;
  const key = keyOfWebhook(tokenName, webhook);
  const found = yield* findConnection(sql, webhook, key);
  if (!found) {
    const id = newConnectionId();
    const facts = { id, companyId, userId, kind: 'webhook' as const, source: 'token' as const, firstAt: now };
    const added = newConnection({ ...facts, name: nameOfKey(tokenName, webhook) });
    yield* query(sql.record.insert, [JSON.stringify([{ ...toStored(added), key }])]);
    yield* update(sql, { ...begin(added, position, now), tokenExpiresAt });
    return { connectionId: id, position };
  }
  const connection = { ...found, companyId, tokenExpiresAt };
  const { id: connectionId, endedAt, endedBy } = found;
  const wasHandled = endedBy === 'handled';
  const isOther = found.companyId !== companyId;
  const goesOn = !isOther && (webhook.connectionId === null ? !startsAgain(found, now) : !wasHandled);
  if (goesOn) {
    const startsAt = isPositionFixed ? position : (found.position ?? position);
    if (endedAt === null) yield* update(sql, connection);
    else {
      // Only what a later `since` leaves out.
      yield* query(sql.record.missWaiting, [connectionId, 'passed', now, startsAt]);
      const again = { endedAt: null, endedBy: null, endStamp: null, errors: 0, failingSince: null };
      yield* update(sql, { ...connection, ...again, position: startsAt });
    }
    return { connectionId, position: startsAt };
  }
  if (!wasHandled) yield* query(sql.record.missWaiting, [connectionId, 'passed', now, null]);
  yield* query(DROP_PENDING, [connectionId]);
  if (isOther) yield* query(SET_COMPANY, [connectionId, companyId]);
  // What was marked as handled is not sent by a webhook that was there before, either.
  const startsAt = wasHandled && !isOther ? Math.max(position, found.position ?? 0) : position;
  yield* update(sql, { ...begin(connection, startsAt, now), errors: 0, failingSince: null });
  return { connectionId, position: startsAt };
}

function* findConnection(
  sql: WebhookStatements,
  { connectionId, userId }: Webhook,
  key: string,
): SqlTask<Connection | undefined> {
  if (connectionId !== null) {
    const [row] = yield* query<StoredConnection>(FIND, [connectionId]);
    if (row) return toConnection(row);
  }
  const wanted = { userId, kind: 'webhook' as const, keyId: null, key };
  return (yield* findConnections(sql.record.lock, [wanted])).values().next().value;
}

const update = (sql: WebhookStatements, connection: Connection): SqlTask<unknown> =>
  query(sql.record.update, [JSON.stringify([toStored(connection)])]);

/** With its webhook. A connection of several webhooks keeps its name. */
export function* renameWebhook(connectionId: string, name: string): SqlTask<void> {
  const [row] = yield* query<{ hooks: number; userId: string; name: string }>(COUNT_HOOKS, [connectionId]);
  if (row && Number(row.hooks) === 1 && row.name !== name)
    yield* renameConnection(connectionId, name, row.userId);
}

/** In the transaction that stores the progress of the hooks, after it. */
export function* recordPushed(
  sql: WebhookStatements,
  pushed: readonly PushedLeads[],
  now: number,
): SqlTask<void> {
  const { deliveries } = sql.record;
  const sent = pushed.flatMap(({ connection, companyId, createdAt }) =>
    createdAt.map((stamp) => ({
      ...{ connection, companyId, createdAt: stamp, sentAt: now, mayBeHistory: true },
    })),
  );
  const added = yield* addDeliveries(deliveries, sent);
  yield* addHours(
    deliveries,
    added.map(({ connection }) => ({ connection, hour: hourOf(now), leads: 1, updated: 0, failed: 0 })),
  );
  const again = pushed.flatMap(({ connection, pending }) => pending.map((lead) => ({ ...lead, connection })));
  if (again.length > 0) yield* query(sql.endPending, [JSON.stringify(again)]);
  const keyOf = (lead: { connection: string; createdAt: number }) => `${lead.connection} ${lead.createdAt}`;
  const repeated = new Set(again.map(keyOf));
  yield* endPending(
    deliveries,
    added.filter((lead) => !repeated.has(keyOf(lead))),
  );
  yield* query(sql.move, [pushed.map(({ connection }) => connection), now]);
}

/** Ends those of these connections that have no webhook any more. One that never worked owes nothing. */
export function* endUnusedWebhooks(
  sql: WebhookStatements,
  ids: readonly string[],
  endedBy: string,
): SqlTask<void> {
  if (ids.length === 0) return;
  for (const { id } of yield* query<{ id: string }>(sql.findUnused, [ids]))
    yield* endConnection(sql.changes, id, endedBy);
}
