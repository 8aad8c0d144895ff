/** Writes what was recorded of connections: one transaction for many of them. Counts are added, and rows are inserted once. */
import { randomBytes } from 'node:crypto';
import { DOOR_ID } from '@leadtap/contract';
import { selectVisibleLeads } from '../leads/access.ts';
import {
  assignFields,
  type ColumnType,
  type Dialect,
  query,
  type SqlTask,
  selectFields,
  type Table,
} from '../sql/sql.ts';
import {
  addDeliveries,
  addHours,
  endPending,
  type HourRow,
  hourOf,
  prepareDeliveries,
  type SentLead,
} from './deliveries-sql.ts';
import { entriesOf, isFailure, type LogRow, type LogUpdate } from './log.ts';
import { isCounted, notePoll, startsAgain, styleOf } from './polls.ts';
import { lostOf, notePush, noteSend } from './requests.ts';
import { missWaitingSql } from './state-sql.ts';
import {
  type Connection,
  type ConnectionBatch,
  type ConnectionKey,
  type LostCount,
  NO_HABIT,
  type PollRun,
} from './store.ts';

export interface StoredConnection extends Omit<Connection, 'habit'> {
  /** JSON. */
  readonly habit: string;
}

/** What a batch changes. */
const CHANGED: Table<
  Omit<
    StoredConnection,
    'id' | 'companyId' | 'userId' | 'kind' | 'name' | 'accessChangedThrough' | 'pausedAt' | 'pausedBy'
  >
>['types'] = {
  source: 'text',
  firstAt: 'time',
  lastAt: 'time',
  tokenExpiresAt: 'time',
  lastLeadAt: 'time',
  startStamp: 'time',
  startedAt: 'time',
  position: 'time',
  auditedThrough: 'time',
  notedPosition: 'time',
  workedAt: 'time',
  endedAt: 'time',
  endedBy: 'text',
  endStamp: 'time',
  errors: 'integer',
  failingSince: 'time',
  lastErrorAt: 'time',
  lastErrorCode: 'text',
  ahead: 'text',
  aheadSince: 'time',
  pruned: 'integer',
  eventAt: 'time',
  eventOpenSince: 'time',
  habit: 'text',
};

export const CONNECTIONS: Table<StoredConnection> = {
  name: 'connections',
  key: ['id'],
  types: {
    ...{ id: 'text', companyId: 'text', userId: 'text', kind: 'text', name: 'text' },
    ...{ pausedAt: 'time', pausedBy: 'text', accessChangedThrough: 'time' },
    ...CHANGED,
  },
};

export const SELECTED = selectFields(CONNECTIONS.types, 'c');
export const toConnection = (row: StoredConnection): Connection => ({ ...row, habit: JSON.parse(row.habit) });
export const toStored = (connection: Connection): StoredConnection => ({
  ...connection,
  habit: JSON.stringify(connection.habit),
});

const KEY: Readonly<Record<string, ColumnType>> = {
  ...{ number: 'integer', userId: 'text', kind: 'text', keyId: 'text', client: 'text' },
};
const MAX_PAGE = 100;

/** The key of a connection: its name, its client, or else its only token. That of a webhook is stored with its subscription. */
const KEY_OF_REQUEST = `
  CASE WHEN k.kind = 'webhook' THEN w.key
       WHEN t.name IS NOT NULL THEN 'n:' || t.name
       WHEN k.client IS NOT NULL THEN 'c:' || k.client
       ELSE 't:' || coalesce(k."keyId", '') END`;

const findSql = (dialect: Dialect): string => `
  SELECT ${SELECTED}, c.key FROM leadtap.connections AS c
    JOIN ${dialect.rows('$1', { userId: 'text', kind: 'text', key: 'text' })} AS k
      ON c.user_id = k."userId" AND c.kind = k.kind AND c.key = k.key
   ORDER BY c.id`;

/** A token `o` that was replaced, does nothing but poll, and is not revoked. */
const POLLS_STILL = `o.scope = 'leads:read'
  AND NOT EXISTS (SELECT 1 FROM leadtap.revoked_tokens AS r WHERE r.token_id = o.id)`;
const END_REPLACED = `
  INSERT INTO leadtap.revoked_tokens (token_id, revoked_at)
    SELECT o.id, leadtap.from_ms($2) FROM leadtap.issued_tokens AS o WHERE o.replaced_by = $1 AND ${POLLS_STILL}
  ON CONFLICT (token_id) DO NOTHING`;
const NOTE_USE = 'UPDATE leadtap.issued_tokens SET used_at = leadtap.from_ms($2) WHERE id = $1';

export const prepareRecord = (dialect: Dialect) => ({
  deliveries: prepareDeliveries(dialect),
  missWaiting: missWaitingSql(dialect),
  /** The values: the keys. */
  resolve: `
    SELECT k.number, ${KEY_OF_REQUEST} AS key, u.company_id AS "companyId",
           leadtap.to_ms(${dialect.lastStampOf('u.company_id')}) AS "lastStamp",
           t.replaced_by IS NOT NULL AS "isReplaced",
           EXISTS (SELECT 1 FROM leadtap.issued_tokens AS o WHERE o.replaced_by = t.id AND ${POLLS_STILL}) AS "replacesPoller"
      FROM ${dialect.rows('$1', KEY)} AS k
      LEFT JOIN leadtap.users AS u ON u.id = k."userId"
      LEFT JOIN leadtap.connections AS w ON k.kind = 'webhook' AND w.id = k."keyId"
      LEFT JOIN leadtap.issued_tokens AS t ON t.user_id = k."userId" AND t.id = k."keyId"`,
  /** In the order of their ids, so that two instances cannot deadlock. */
  lock: `${findSql(dialect)} FOR UPDATE OF c`,
  find: findSql(dialect),
  insert: `
    INSERT INTO leadtap.connections (id, company_id, user_id, kind, key, name, source, first_at, habit)
      SELECT r.id, r."companyId", r."userId", r.kind, r.key, r.name, r.source, r."firstAt", r.habit
        FROM ${dialect.rows('$1', {
          ...{ id: 'text', companyId: 'text', userId: 'text', kind: 'text', key: 'text', name: 'text' },
          ...{ source: 'text', firstAt: 'time', habit: 'text' },
        })} AS r WHERE true
      ON CONFLICT (user_id, kind, key) DO NOTHING`,
  update: `
    UPDATE leadtap.connections AS c SET ${assignFields(CHANGED)}
      FROM ${dialect.rows('$1', { id: 'text', ...CHANGED })} AS r WHERE c.id = r.id`,
  /** Which of these times are stamps of leads. */
  findStamps: `
    SELECT r."companyId", leadtap.to_ms(l.created_at) AS since FROM ${dialect.rows('$1', { companyId: 'text', since: 'time' })} AS r
      ${dialect.joinEach('leads', 'l', 'l.company_id = r."companyId" AND l.created_at = r.since')}`,
  /** The oldest lead of a page of 100. The values: the user, the newest lead of the page. */
  findFloor: `
    SELECT leadtap.to_ms(${selectVisibleLeads(
      dialect,
      'u',
      (
        leads,
      ) => `SELECT min(created_at) FROM (SELECT l.created_at FROM ${leads} AND l.created_at <= leadtap.from_ms($2)
        ORDER BY l.created_at DESC LIMIT ${MAX_PAGE}) AS newest`,
    )}) AS floor FROM leadtap.users AS u WHERE u.id = $1`,
  addLost: `
    INSERT INTO leadtap.lost_requests AS o (connection, why, requests, first_at, last_at)
      SELECT r.connection, r.why, r.requests, r."firstAt", r."lastAt" FROM ${dialect.rows('$1', {
        ...{ connection: 'text', why: 'text', requests: 'integer', firstAt: 'time', lastAt: 'time' },
      })} AS r WHERE true
      ON CONFLICT (connection, why) DO UPDATE SET requests = o.requests + excluded.requests,
        last_at = CASE WHEN excluded.last_at > o.last_at THEN excluded.last_at ELSE o.last_at END`,
  addEntries: `
    INSERT INTO leadtap.activity AS a (connection, first_at, last_at, times, kind, leads, after, through, reason, details)
      SELECT r.connection, r."firstAt", r."lastAt", r.times, r.kind, r.leads, r.after, r.through, r.reason, r.details
        FROM ${dialect.rows('$1', ENTRY)} AS r WHERE true
      ON CONFLICT (connection, first_at) DO UPDATE SET last_at = excluded.last_at, times = a.times + excluded.times,
        leads = a.leads + excluded.leads`,
  updateEntries: `
    UPDATE leadtap.activity AS a SET last_at = r."lastAt", times = a.times + r.times, leads = a.leads + r.leads,
           through = coalesce(r.through, a.through), reason = r.reason, details = r.details
      FROM ${dialect.rows('$1', ENTRY)} AS r WHERE a.connection = r.connection AND a.first_at = r."firstAt"`,
});

const ENTRY: Readonly<Record<keyof LogRow, ColumnType>> = {
  ...{ connection: 'text', firstAt: 'time', lastAt: 'time', times: 'integer', kind: 'text' },
  ...{ leads: 'integer', after: 'time', through: 'time', reason: 'text', details: 'text' },
};

export type RecordStatements = ReturnType<typeof prepareRecord>;

interface ResolvedKey {
  readonly number: number;
  readonly key: string;
  /** Null: there is no such user. */
  readonly companyId: string | null;
  readonly lastStamp: number | null;
  /** Its token was renewed. */
  readonly isReplaced: boolean | number;
  /** Its token is a renewed one, and an old one may still poll. */
  readonly replacesPoller: boolean | number;
}

interface FoundConnection extends StoredConnection {
  readonly key: string;
}

/** No command reads it as an option: it does not begin with a hyphen. */
export const newConnectionId = (): string => randomBytes(12).toString('hex');

/** Before the name in a key. */
const PREFIX = 2;

/** What people call it if it has no name. */
const nameOf = (key: string): string => {
  if (!key.startsWith('t:')) return key.slice(PREFIX);
  return key.length > PREFIX ? `key ${key.slice(PREFIX, PREFIX + 8)}` : 'keys without an id';
};

const rowKeyOf = ({ userId, kind }: Pick<ConnectionKey, 'userId' | 'kind'>, key: string): string =>
  `${userId}\0${kind}\0${key}`;

export function* resolveKeys(
  sql: RecordStatements,
  keys: readonly ConnectionKey[],
): SqlTask<(ResolvedKey | undefined)[]> {
  const rows = keys.map(({ userId, kind, keyId, client = null }, number) => ({
    number,
    userId,
    kind,
    keyId,
    client,
  }));
  const found = yield* query<ResolvedKey>(sql.resolve, [JSON.stringify(rows)]);
  const byNumber = new Map(found.map((row) => [row.number, row]));
  return keys.map((_, number) => byNumber.get(number));
}

export function* findConnections(
  statement: string,
  keys: readonly (ConnectionKey & { readonly key: string })[],
): SqlTask<Map<string, Connection>> {
  const wanted = keys.map(({ userId, kind, key }) => ({ userId, kind, key }));
  const rows = yield* query<FoundConnection>(statement, [JSON.stringify(wanted)]);
  return new Map(rows.map(({ key, ...row }) => [rowKeyOf(row, key), toConnection(row)]));
}

/** What was recorded of one connection, by any of its keys. */
interface Recorded extends Omit<ConnectionBatch, keyof ConnectionKey | 'isKnownOnly'> {
  readonly connection: Connection;
  readonly lastStamp: number;
}

const byTime = (a: { readonly firstAt: number }, b: { readonly firstAt: number }): number =>
  a.firstAt - b.firstAt;

/** Finds the connection of each batch, or adds it, and joins the batches of one. Those that are not stored are left out. */
function* findOrAdd(
  sql: RecordStatements,
  batches: readonly ConnectionBatch[],
): SqlTask<{
  readonly recorded: Map<string, Recorded>;
  readonly ids: readonly (string | undefined)[];
  readonly resolved: readonly (ResolvedKey | undefined)[];
}> {
  const resolved = yield* resolveKeys(sql, batches);
  const keys = batches.map((batch, number) => ({ ...batch, key: resolved[number]?.key ?? '' }));
  let known = yield* findConnections(sql.lock, keys);
  const missing = keys.flatMap((batch, number) => {
    const companyId = resolved[number]?.companyId ?? (batch.kind === 'send' ? '' : null);
    if (
      batch.isKnownOnly ||
      batch.kind === 'webhook' ||
      companyId === null ||
      known.has(rowKeyOf(batch, batch.key))
    )
      return [];
    const { userId, kind, key, source } = batch;
    const id = batch.keyId === DOOR_ID ? DOOR_ID : newConnectionId();
    const firstAt = Math.min(...[...batch.polls, ...batch.sends, ...batch.pushes].map((run) => run.firstAt));
    return [
      {
        id,
        companyId,
        userId,
        kind,
        key,
        name: nameOf(key),
        source,
        firstAt,
        habit: JSON.stringify(NO_HABIT),
      },
    ];
  });
  if (missing.length > 0) {
    yield* query(sql.insert, [JSON.stringify(missing)]);
    known = yield* findConnections(sql.lock, keys);
  }
  const recorded = new Map<string, Recorded>();
  const ids = keys.map((batch, number) => {
    const connection = known.get(rowKeyOf(batch, batch.key));
    if (!connection) return undefined;
    const before = recorded.get(connection.id);
    recorded.set(connection.id, {
      connection,
      lastStamp: resolved[number]?.lastStamp ?? 0,
      source: batch.source,
      tokenExpiresAt: batch.tokenExpiresAt,
      polls: [...(before?.polls ?? []), ...batch.polls].sort(byTime),
      sends: [...(before?.sends ?? []), ...batch.sends].sort(byTime),
      pushes: [...(before?.pushes ?? []), ...batch.pushes].sort(byTime),
    });
    return connection.id;
  });
  return { recorded, ids, resolved };
}

/** The times that are exactly stamps of leads, by connection. */
function* findStamps(sql: RecordStatements, recorded: Iterable<Recorded>): SqlTask<Set<string>> {
  const asked = [...recorded].flatMap(({ connection: { companyId }, polls }) =>
    polls.flatMap(({ since }) => (since === null ? [] : [{ companyId, since }])),
  );
  if (asked.length === 0) return new Set();
  const rows = yield* query<{ companyId: string; since: number }>(sql.findStamps, [JSON.stringify(asked)]);
  return new Set(rows.map(({ companyId, since }) => `${companyId}\0${since}`));
}

/** Of a page that is shorter than 100, the oldest lead that the page of 100 would have had. */
function* findFloor(
  sql: RecordStatements,
  { connection, polls }: Recorded,
): SqlTask<number | null | undefined> {
  if (connection.habit.floor !== null || connection.kind !== 'poll') return undefined;
  const first = polls.find(({ since, page, limit }) => since === null && page?.isFull && limit < MAX_PAGE);
  if (!first?.page) return undefined;
  const [row] = yield* query<{ floor: number | null }>(sql.findFloor, [connection.userId, first.page.newest]);
  return row?.floor ?? null;
}

interface FoldContext {
  readonly stamps: ReadonlySet<string>;
  readonly floor: number | null | undefined;
  readonly isNew: (createdAt: number) => boolean;
}

interface Folded {
  readonly connection: Connection;
  readonly polls: readonly (PollRun & { readonly isOther: boolean })[];
}

function fold(
  { connection: stored, lastStamp, polls, pushes, sends }: Recorded,
  context: FoldContext,
): Folded {
  let connection = stored;
  const waiting = [...pushes];
  // A poll after an event shows that the event worked.
  const noteUntil = (at: number) => {
    for (let run = waiting[0]; run && run.firstAt <= at; run = waiting[0]) {
      connection = notePush(connection, run);
      waiting.shift();
    }
  };
  const judged = polls.map((run) => {
    const { since, page } = run;
    noteUntil(run.lastAt);
    const isStamp = since !== null && context.stamps.has(`${stored.companyId}\0${since}`);
    const isOther = !isCounted(connection, run, styleOf(connection.habit, since, isStamp));
    const hasNothingNew = page !== null && !page.createdAt.some(context.isNew);
    const { floor } = context;
    connection = notePoll(connection, run, {
      isStamp,
      lastStamp,
      hasNothingNew,
      ...(floor !== undefined && { floor }),
    });
    return { ...run, isOther };
  });
  noteUntil(Number.POSITIVE_INFINITY);
  for (const run of sends) connection = noteSend(connection, run);
  return { connection, polls: judged };
}

/** No row for leads before the start, unless a `since` asked for them. */
const sentBy = ({ connection, polls }: Folded): SentLead[] =>
  polls.flatMap(({ page, isOther, since, lastAt }) =>
    !page?.isSent || isOther
      ? []
      : page.createdAt
          .filter(
            (createdAt) => since !== null || createdAt > (connection.startStamp ?? Number.POSITIVE_INFINITY),
          )
          .map((createdAt) => ({
            ...{ connection: connection.id, companyId: connection.companyId, createdAt },
            ...{ sentAt: lastAt, mayBeHistory: since !== null },
          })),
  );

/** In one transaction. Returns the connections as they are then. */
/** An old token that polls ends when the new one is first used for a poll. Of other old ones, the last use is shown. */
function* noteRenewed(
  batches: readonly ConnectionBatch[],
  resolved: readonly (ResolvedKey | undefined)[],
): SqlTask<void> {
  for (const [number, { keyId, polls, sends }] of batches.entries()) {
    const { isReplaced, replacesPoller } = resolved[number] ?? {};
    const poll = polls.findLast(({ page }) => page !== null);
    if (replacesPoller && poll) yield* query(END_REPLACED, [keyId, poll.lastAt]);
    const usedAt = Math.max(
      ...[poll, ...sends.filter((run) => !run.isAccepted)].map((run) => run?.lastAt ?? 0),
    );
    if (isReplaced && usedAt > 0) yield* query(NOTE_USE, [keyId, usedAt]);
  }
}

export function* recordBatches(
  sql: RecordStatements,
  batches: readonly ConnectionBatch[],
): SqlTask<(Connection | undefined)[]> {
  const { recorded, ids, resolved } = yield* findOrAdd(sql, batches);
  yield* noteRenewed(batches, resolved);
  const stamps = yield* findStamps(sql, recorded.values());
  const floors = new Map<string, number | null | undefined>();
  for (const [id, one] of recorded) floors.set(id, yield* findFloor(sql, one));
  const contextOf = (id: string, isNew: FoldContext['isNew']) => ({ stamps, floor: floors.get(id), isNew });
  // What is sent depends on what counts, and whether a page had anything new on what was sent before.
  const sent = [...recorded].flatMap(([id, one]) =>
    sentBy(
      fold(
        one,
        contextOf(id, () => true),
      ),
    ),
  );
  const added = yield* addDeliveries(sql.deliveries, sent);
  yield* endPending(sql.deliveries, added);
  const newOf = new Map<string, Set<number>>();
  for (const { connection, createdAt } of added) {
    const known = newOf.get(connection);
    if (known) known.add(createdAt);
    else newOf.set(connection, new Set([createdAt]));
  }
  const changed = new Map<string, Connection>();
  const log: LogUpdate[] = [];
  const lost: (LostCount & { readonly connection: string })[] = [];
  const hours: HourRow[] = [];
  for (const [id, one] of recorded) {
    const fresh = newOf.get(id) ?? new Set<number>();
    const isNew = (createdAt: number) => fresh.has(createdAt);
    const isOwed = one.connection.endedAt !== null && one.connection.endedBy !== 'handled';
    const asks = one.polls.find(({ page }) => page !== null);
    if (isOwed && asks && startsAgain(one.connection, asks.firstAt))
      yield* query(sql.missWaiting, [id, 'passed', asks.firstAt, null]);
    const { connection, polls } = fold(one, contextOf(id, isNew));
    const { rows, newest } = entriesOf(connection.habit.entry, { ...one, polls, connection: id, isNew });
    log.push(...rows);
    for (const run of one.sends) lost.push(...lostOf(run).map((cause) => ({ ...cause, connection: id })));
    hours.push(...hoursOf(id, rows, one, polls, fresh));
    const { tokenExpiresAt = connection.tokenExpiresAt, source } = one;
    changed.set(id, { ...connection, source, tokenExpiresAt, habit: { ...connection.habit, entry: newest } });
  }
  if (changed.size > 0) yield* query(sql.update, [JSON.stringify([...changed.values()].map(toStored))]);
  const entries = log.filter(({ isContinued }) => !isContinued);
  const continued = log.filter(({ isContinued }) => isContinued);
  if (entries.length > 0) yield* query(sql.addEntries, [JSON.stringify(entries)]);
  if (continued.length > 0) yield* query(sql.updateEntries, [JSON.stringify(continued)]);
  if (lost.length > 0) yield* query(sql.addLost, [JSON.stringify(joinLost(lost))]);
  yield* addHours(sql.deliveries, hours);
  return ids.map((id) => (id === undefined ? undefined : changed.get(id)));
}

/** Leads count in the hour in which they were first sent or added, failures in that of their request. */
function hoursOf(
  connection: string,
  rows: readonly LogUpdate[],
  { sends }: Recorded,
  polls: Folded['polls'],
  fresh: ReadonlySet<number>,
): HourRow[] {
  const hours: HourRow[] = rows
    .filter(isFailure)
    .map(({ lastAt, times }) => ({ connection, hour: hourOf(lastAt), leads: 0, updated: 0, failed: times }));
  const left = new Set(fresh);
  for (const { page, lastAt } of polls) {
    const leads = page?.createdAt.filter((createdAt) => left.delete(createdAt)).length ?? 0;
    if (leads > 0) hours.push({ connection, hour: hourOf(lastAt), leads, updated: 0, failed: 0 });
  }
  for (const { lastAt, added, updated } of sends)
    if (added + updated > 0)
      hours.push({ connection, hour: hourOf(lastAt), leads: added, updated, failed: 0 });
  return hours;
}

/** One row for each cause: a statement changes no row twice. */
function joinLost<Row extends LostCount & { readonly connection: string }>(lost: readonly Row[]): Row[] {
  const byCause = new Map<string, Row>();
  for (const one of lost) {
    const key = `${one.connection} ${one.why}`;
    const before = byCause.get(key);
    byCause.set(
      key,
      before
        ? { ...before, requests: before.requests + one.requests, lastAt: Math.max(before.lastAt, one.lastAt) }
        : one,
    );
  }
  return [...byCause.values()];
}
