/** The consumers in a database: how far each token has come. */

import {
  ENDED_CONSUMERS,
  ENDED_KEPT_MS,
  endConsumer,
  POSITION_OF_CONSUMER as POSITION,
  pruneEnded,
} from '../accounts/ended-consumers.ts';
import { tokenKeyText } from '../accounts/token-key.ts';
import { isIssued, isRevoked, mergeTokenRows, prepareTokenRows } from '../accounts/token-rows.ts';
import { BAR_HOURS, HOUR_MS, hourOf, hoursOf } from '../attempts/hours.ts';
import { prepareAttempts, recordAttempts, removeSubjects } from '../attempts/sql.ts';
import { consumerIdOf, type SubjectAttempts } from '../attempts/store.ts';
import { type PollingUser, scopeOf, selectVisibleLeads, unionVisibleLeads } from '../leads/access.ts';
import { laterOf } from '../lib/clock.ts';
import {
  BEFORE_ALL_TIMES,
  type ColumnType,
  type Dialect,
  isStorable,
  lock,
  query,
  queryInChunks,
  readNow,
  type SqlDatabase,
  type SqlTask,
  selectFields,
  type Table,
  type TaskOptions,
} from '../sql/sql.ts';
import { gapsSince, keepGapsWithLeads, mergePolls, startOfFirstPolls } from './merge-polls.ts';
import { findMissed, findMissedOfUsers, prepareMovedLeads, recordReceived } from './moved-leads.ts';
import { attemptsOf } from './poll-attempts.ts';
import { formatOnly, parseScopes, scopesOf } from './scopes.ts';
import {
  type Consumer,
  type ConsumerKey,
  type ConsumerPosition,
  type ConsumerQuery,
  type ConsumerStore,
  type Downtime,
  ENDED_TOKEN_MS,
  type EndedConsumer,
  type Gap,
  MIN_DOWNTIME_MS,
  type PollSummary,
  positionOf,
  REVOKED_KEPT_MS,
  type SentRange,
  type TokenEnd,
} from './store.ts';

interface StoredConsumer extends Omit<ConsumerPosition, 'heldUntil' | 'gaps'> {
  readonly waitingUntil: number | null;
  /** JSON. Null: none. */
  readonly gaps: string | null;
}

export const CONSUMERS: Table<StoredConsumer> = {
  name: 'consumers',
  key: ['user_id', 'token_id'],
  types: {
    userId: 'text',
    tokenId: 'nullAsEmpty',
    tokenExpiresAt: 'time',
    firstPollAt: 'time',
    lastPollAt: 'time',
    lastStatus: 'integer',
    polls: 'integer',
    waitingUntil: 'time',
    intervalMs: 'integer',
    confirmedThrough: 'time',
    deliveredThrough: 'time',
    gaps: 'text',
    confirmedAt: 'time',
    scopes: 'text',
    hours: 'text',
  },
};

const NO_GAPS: readonly Gap[] = [];

/** Without a spread, as in the recorder: each flush calls it for each consumer. */
const toStored = (position: ConsumerPosition): StoredConsumer => ({
  userId: position.userId,
  tokenId: position.tokenId,
  tokenExpiresAt: position.tokenExpiresAt,
  firstPollAt: position.firstPollAt,
  lastPollAt: position.lastPollAt,
  lastStatus: position.lastStatus,
  polls: position.polls,
  waitingUntil: position.heldUntil,
  gaps: position.gaps.length === 0 ? null : JSON.stringify(position.gaps),
  intervalMs: position.intervalMs,
  confirmedThrough: position.confirmedThrough,
  deliveredThrough: position.deliveredThrough,
  confirmedAt: position.confirmedAt,
  scopes: position.scopes,
  hours: position.hours,
});

const toPosition = (stored: StoredConsumer): ConsumerPosition => ({
  userId: stored.userId,
  tokenId: stored.tokenId,
  tokenExpiresAt: stored.tokenExpiresAt,
  firstPollAt: stored.firstPollAt,
  lastPollAt: stored.lastPollAt,
  lastStatus: stored.lastStatus,
  polls: stored.polls,
  heldUntil: stored.waitingUntil,
  gaps: stored.gaps === null ? NO_GAPS : JSON.parse(stored.gaps),
  intervalMs: stored.intervalMs,
  confirmedThrough: stored.confirmedThrough,
  deliveredThrough: stored.deliveredThrough,
  confirmedAt: stored.confirmedAt,
  scopes: stored.scopes,
  hours: stored.hours,
});

const SELECTED = selectFields(CONSUMERS.types, 'c');

/** A revoked token that is still used is listed, so that it is noticed. */
const IS_OVER = `(${isRevoked('c')} AND NOT (
  c.last_status = 401 AND c.last_poll_at > leadtap.from_ms(CAST($1 AS bigint) - ${ENDED_TOKEN_MS})))`;
const REVOKED_SINCE = `leadtap.from_ms(CAST($1 AS bigint) - ${REVOKED_KEPT_MS})`;
const IS_REVOKED_AND_KEPT = `${IS_OVER} AND c.last_poll_at > ${REVOKED_SINCE}`;
/** An expired token of an identity provider, and the client has another one: a token of the user that has polled since. */
const IS_REPLACED = `(c.token_expires_at <= leadtap.from_ms($1) AND c.token_id <> '' AND NOT ${isIssued('c')}
  AND EXISTS (SELECT 1 FROM leadtap.consumers AS o
               WHERE o.user_id = c.user_id AND o.last_poll_at > c.last_poll_at AND NOT ${isIssued('o')}))`;

const IS_PENDING = `l.created_at > coalesce(${POSITION}, ${BEFORE_ALL_TIMES})`;
const IS_UNCONFIRMED = 'l.created_at > c.confirmed_through AND l.created_at <= c.delivered_through';
const IS_IN_GAP = `l.created_at > coalesce(g."after", ${BEFORE_ALL_TIMES}) AND l.created_at <= g.through`;

/** The users whose consumers are listed. IS TRUE keeps PostgreSQL from a join that reads all users for a page. */
const SELECTIONS = {
  all: '(EXISTS (SELECT 1 FROM leadtap.users AS u WHERE u.id = c.user_id)) IS TRUE',
  user: 'c.user_id IN (SELECT u.id FROM leadtap.users AS u WHERE u.id = $6)',
  company: 'c.user_id IN (SELECT u.id FROM leadtap.users AS u WHERE u.company_id = $6)',
};

const countOf = (leads: string): string =>
  `SELECT count(*) FROM (SELECT 1 AS one FROM ${leads} ORDER BY l.created_at LIMIT $3) AS counted`;
const firstOf = (leads: string): string => `SELECT l.created_at FROM ${leads} ORDER BY l.created_at LIMIT 1`;

const USER = `u.company_id AS "companyId", u.plan, u.access_level AS "accessLevel", u.branch_id AS "branchId",
           u.department_id AS "departmentId"`;

/** The values: the user, since, the maximum of the count. */
function findPendingSql(dialect: Dialect): string {
  const select = (sql: (leads: string) => string): string =>
    selectVisibleLeads(dialect, 'u', (leads) => sql(`${leads} AND l.created_at > leadtap.from_ms($2)`));
  return `
    SELECT u.id, ${USER}, ${select(countOf)} AS "pendingLeads", leadtap.to_ms(${select(firstOf)}) AS "pendingSince"
      FROM leadtap.users AS u WHERE u.id = $1`;
}

/**
 * The pending leads of all consumers of one user, who see the same leads: the newest ones are read once, and sorted together with the
 * positions. A lead of the same time as a position is not pending.
 */
const pendingOfUser = (dialect: Dialect): string => `
    , newest AS MATERIALIZED (
      SELECT k.value AS at FROM leadtap.users AS u ${dialect.joinValues(
        unionVisibleLeads(
          dialect,
          'u',
          (leads) => `SELECT l.created_at AS value FROM ${leads} ORDER BY l.created_at DESC LIMIT $3`,
        ),
        'k',
      )} WHERE u.id = $6)
    , pending AS MATERIALIZED (
      SELECT token_id, sum(leads) OVER (ORDER BY at DESC, leads ROWS UNBOUNDED PRECEDING) AS count
        FROM (SELECT at, 1 AS leads, NULL AS token_id FROM newest UNION ALL
              SELECT coalesce(${POSITION}, ${BEFORE_ALL_TIMES}), 0, c.token_id FROM page AS c) AS m)`;

/**
 * The values: now, limit, the maximum of the counts, user and token of the last consumer before, company or user. The page is chosen
 * first, so that leads are counted for its consumers alone.
 */
function listSql(dialect: Dialect, selection: string, isListed = `${IS_OVER} IS NOT TRUE`): string {
  const isOfUser = selection === SELECTIONS.user;
  const select = (sql: (leads: string) => string): string => selectVisibleLeads(dialect, 'u', sql);
  const gapTypes: Record<string, ColumnType> = { after: 'time', through: 'time', isBeforeStart: 'boolean' };
  const gaps = `${dialect.rows('c.gaps', gapTypes)} AS g`;
  const skipped = (leads: string): string =>
    `SELECT 1 AS one FROM ${gaps} CROSS JOIN ${leads} AND NOT g."isBeforeStart" AND ${IS_IN_GAP} LIMIT $3`;
  return `
    WITH page AS MATERIALIZED (
      SELECT c.* FROM leadtap.consumers AS c
       WHERE ${selection} AND (c.user_id, c.token_id) > ($4, $5)
         AND ${isListed} AND ${IS_REPLACED} IS NOT TRUE
       ORDER BY c.user_id, c.token_id LIMIT $2)
    ${isOfUser ? pendingOfUser(dialect) : ''}
    SELECT ${SELECTED}, ${USER}, t.name, leadtap.to_ms(t.issued_at) AS "tokenIssuedAt",
           ${isRevoked('c')} AS "isRevoked",
           ${isOfUser ? '(SELECT count FROM pending AS p WHERE p.token_id = c.token_id)' : select((leads) => countOf(`${leads} AND ${IS_PENDING}`))} AS "pendingLeads",
           leadtap.to_ms(${select((leads) => firstOf(`${leads} AND ${IS_PENDING}`))}) AS "pendingSince",
           ${select((leads) => `SELECT count(*) FROM (${skipped(leads)}) AS counted`)} AS "skippedLeads",
           leadtap.to_ms(${select((leads) => `SELECT min((${firstOf(`${leads} AND ${IS_IN_GAP}`)})) FROM ${gaps} WHERE NOT g."isBeforeStart"`)}) AS "skippedSince",
           leadtap.to_ms(${select((leads) => firstOf(`${leads} AND ${IS_UNCONFIRMED}`))}) AS "unconfirmedSince"
      FROM page AS c JOIN leadtap.users AS u ON u.id = c.user_id
      LEFT JOIN leadtap.issued_tokens AS t ON t.id = c.token_id
     ORDER BY c.user_id, c.token_id`;
}

/** What is known of a downtime: one row, or none. */
interface Availability {
  readonly unavailableSince: number | null;
  readonly availableSince: number | null;
  /** Or `PAUSED`. */
  readonly stoppedAt: number | null;
  /** JSON of those that `listDowntimes` returns. Null: none. */
  readonly downtimes: string | null;
}

/** In place of a time: the last instance has not recorded polls. */
const PAUSED = 0;

const READ_AVAILABILITY = `
  SELECT leadtap.to_ms(unavailable_since) AS "unavailableSince", leadtap.to_ms(available_since) AS "availableSince",
         leadtap.to_ms(stopped_at) AS "stoppedAt", downtimes FROM leadtap.availability`;
const TIMES = ['$1', '$2', '$3'].map((value) => `leadtap.from_ms(${value})`).join(', ');
const ADD_AVAILABILITY = `
  INSERT INTO leadtap.availability (unavailable_since, available_since, stopped_at, downtimes) VALUES (${TIMES}, $4)`;
const UPDATE_AVAILABILITY = `
  UPDATE leadtap.availability SET (unavailable_since, available_since, stopped_at, downtimes) = (${TIMES}, $4)`;

const LAST_POLL = 'SELECT leadtap.to_ms(max(last_poll_at)) AS "lastPollAt" FROM leadtap.consumers';

const PRUNE = `
  DELETE FROM leadtap.consumers AS c
   WHERE c.last_poll_at < leadtap.from_ms($2) OR NOT EXISTS (SELECT 1 FROM leadtap.users AS u WHERE u.id = c.user_id)
      OR ${isRevoked('c')} AND c.last_poll_at <= ${REVOKED_SINCE} OR ${IS_REPLACED}
   RETURNING user_id AS "userId", nullif(token_id, '') AS "tokenId"`;

const FORGET = `DELETE FROM leadtap.consumers WHERE user_id = $1 AND token_id = $2 RETURNING 1`;

const prepareSql = (dialect: Dialect) => {
  const gaps = dialect.rows('$1', { number: 'integer', userId: 'text', after: 'time', through: 'time' });
  const scopedGaps = dialect.rows('$1', {
    ...{ number: 'integer', level: 'text', companyId: 'text', branchId: 'text', departmentId: 'text' },
    ...{ after: 'time', through: 'time' },
  });
  const newestInGap = (user: string): string =>
    selectVisibleLeads(
      dialect,
      user,
      (leads) => `SELECT l.created_at FROM ${leads} AND ${IS_IN_GAP} ORDER BY l.created_at DESC LIMIT 1`,
    );
  return {
    ...prepareTokenRows(dialect, CONSUMERS),
    moved: prepareMovedLeads(dialect),
    attempts: prepareAttempts(dialect),
    /** The newest lead of each gap that the user may see. */
    newestInGaps: `
      SELECT g.number, leadtap.to_ms(${newestInGap('u')}) AS newest, ${USER}
        FROM ${gaps} AS g JOIN leadtap.users AS u ON u.id = g."userId"`,
    /** The same, of the scopes that were recorded. */
    newestInScopedGaps: `
      SELECT g.number, leadtap.to_ms(${newestInGap('g')}) AS newest
        FROM (SELECT s.number, s.level AS access_level, s."companyId" AS company_id, s."branchId" AS branch_id,
                     s."departmentId" AS department_id, s."after", s.through FROM ${scopedGaps} AS s) AS g`,
    findPending: findPendingSql(dialect),
    list: {
      all: listSql(dialect, SELECTIONS.all),
      user: listSql(dialect, SELECTIONS.user),
      company: listSql(dialect, SELECTIONS.company),
      revoked: listSql(dialect, SELECTIONS.all, IS_REVOKED_AND_KEPT),
      revokedOfUser: listSql(dialect, SELECTIONS.user, IS_REVOKED_AND_KEPT),
    },
  };
};

type Statements = ReturnType<typeof prepareSql>;

interface ListedRow extends StoredConsumer, Omit<PollingUser, 'id'> {
  /** Of the token. */
  readonly name: string | null;
  readonly tokenIssuedAt: number | null;
  readonly isRevoked: boolean | number;
  readonly pendingLeads: number;
  readonly pendingSince: number | null;
  readonly skippedLeads: number;
  readonly skippedSince: number | null;
  readonly unconfirmedSince: number | null;
}

interface ListedMissedLeads {
  /** The newest first. */
  readonly leads: readonly number[];
  /** From before its first poll, in places that its user may see since: no loss. */
  readonly beforeStart: readonly number[];
}

/** The values: the time after which it ended, the limit, the last one of the page before, and the user or null. */
const LIST_ENDED = `
  SELECT ${selectFields(ENDED_CONSUMERS.types, 'e')} FROM leadtap.ended_consumers AS e
   WHERE e.ended_at > leadtap.from_ms($1) AND (e.user_id, e.token_id, e.ended_at) > ($3, $4, leadtap.from_ms($5))
     AND e.user_id = coalesce($6, e.user_id)
   ORDER BY e.user_id, e.token_id, e.ended_at LIMIT $2`;

interface EndedRow extends ConsumerKey, Omit<PollingUser, 'id' | 'plan'> {
  readonly endedAt: number;
  readonly through: number;
  readonly gaps: string | null;
  readonly scopes: string | null;
}

function* toEndedConsumers(sql: Statements, rows: readonly EndedRow[]): SqlTask<EndedConsumer[]> {
  const ended = rows.map((row) => {
    const gaps: EndedConsumer['gaps'] = row.gaps === null ? NO_GAPS : JSON.parse(row.gaps);
    return { row, gaps, start: gaps.find(({ after, isBeforeStart }) => after === null && isBeforeStart) };
  });
  const queries = ended.map(({ row: { userId, tokenId, scopes, through, ...user }, start }) => {
    return { userId, tokenId, scopes, through, after: start?.through ?? null, now: scopeOf(user) };
  });
  const missed = yield* findMissed(sql.moved, queries, 0);
  return ended.map(({ row, gaps }, index) => {
    const { userId, tokenId, endedAt, through, scopes } = row;
    const { companyId, accessLevel, branchId, departmentId } = row;
    const { moved = [], unseen = [] } = missed[index] ?? {};
    const missedLeads = [...new Set([...moved, ...unseen])];
    return {
      ...{ userId, tokenId, endedAt, through, gaps, scopes },
      user: { id: userId, companyId, accessLevel, branchId, departmentId },
      missedLeads: missedLeads.filter((createdAt) => !isInGap({ gaps }, createdAt)),
    };
  });
}

/** Leads that were moved since, or that the consumer could not see when it passed them. */
function* findMissedOf(
  sql: Statements,
  rows: readonly ListedRow[],
  maxLeads: number,
): SqlTask<Map<ListedRow, ListedMissedLeads>> {
  const queries = rows.flatMap((row) => {
    const { userId, tokenId, scopes } = row;
    const through = positionOf(row);
    return through === null
      ? []
      : [{ row, userId, tokenId, scopes, after: null, through, now: scopeOf(row) }];
  });
  const found = yield* findMissed(sql.moved, queries, maxLeads);
  return new Map(
    queries.map(({ row }, index) => {
      const { moved = [], unseen = [] } = found[index] ?? {};
      const isBeforeStart = (createdAt: number) => createdAt <= row.firstPollAt;
      const leads = [...new Set([...moved, ...unseen.filter((createdAt) => !isBeforeStart(createdAt))])];
      return [row, { leads: leads.sort((a, b) => b - a), beforeStart: unseen.filter(isBeforeStart) }];
    }),
  );
}

/** The count is null for a user who may see no lead. */
type PendingRow = PollingUser & {
  readonly pendingLeads: number | null;
  readonly pendingSince: number | null;
};

function toConsumer(
  row: ListedRow,
  { now, maxPendingLeads }: ConsumerQuery,
  {
    downtime,
    missed = { leads: [], beforeStart: [] },
  }: { readonly downtime: Downtime | null; readonly missed: ListedMissedLeads | undefined },
): Consumer {
  const { companyId, plan, accessLevel, branchId, departmentId, isRevoked, skippedLeads, ...rest } = row;
  const { name, tokenIssuedAt, pendingLeads, pendingSince, skippedSince, unconfirmedSince, ...stored } = rest;
  const position = toPosition(stored);
  const missedLeads = missed.leads.filter((createdAt) => !isInGap(position, createdAt));
  const beforeStart = missed.beforeStart
    .filter((createdAt) => !missed.leads.includes(createdAt) && !isInGap(position, createdAt))
    .map((through) => ({ after: through - 1, through, isBeforeStart: true, recordedAt: row.firstPollAt }));
  const skipped = [skippedSince, ...missedLeads].filter((createdAt) => createdAt !== null);
  return {
    ...position,
    gaps: beforeStart.length === 0 ? position.gaps : [...position.gaps, ...beforeStart],
    ...{ name, tokenIssuedAt, pendingLeads, pendingSince, unconfirmedSince, downtime, missedLeads },
    user: { id: row.userId, companyId, plan, accessLevel, branchId, departmentId },
    skippedLeads: Math.min((skippedLeads ?? 0) + missedLeads.length, maxPendingLeads),
    skippedSince: skipped.length > 0 ? Math.min(...skipped) : null,
    tokenEnded: tokenEndOf(row, now),
  };
}

const isInGap = ({ gaps }: { readonly gaps: readonly SentRange[] }, createdAt: number): boolean =>
  gaps.some(({ after, through }) => (after === null || after < createdAt) && createdAt <= through);

function tokenEndOf(
  { lastStatus, lastPollAt, tokenExpiresAt, isRevoked }: ListedRow,
  now: number,
): TokenEnd | null {
  if (lastStatus !== 401 || lastPollAt <= now - ENDED_TOKEN_MS) return null;
  if (isRevoked) return 'revoked';
  return tokenExpiresAt !== null && tokenExpiresAt <= now ? 'expired' : 'key-removed';
}

function toDowntime(known: Availability | undefined): Downtime | null {
  const { unavailableSince = null, availableSince = null, stoppedAt = null } = known ?? {};
  if (unavailableSince === null || availableSince === null) return null;
  if (availableSince - unavailableSince < MIN_DOWNTIME_MS) return null;
  return { unavailableSince, availableSince, ...(stoppedAt === PAUSED && { isUnrecorded: true }) };
}

/** When the service started after a crash. A stop that is recorded is no crash, and neither is a database that was unreachable. */
function startedAfterCrash(known: Availability | undefined): number | null {
  if (!known) return null;
  const { unavailableSince, availableSince, stoppedAt } = known;
  const hasStopped = stoppedAt !== null && unavailableSince !== null && stoppedAt >= unavailableSince;
  return hasStopped ? null : availableSince;
}

/** "LTAC". Instances write one after the other: it takes milliseconds, every few seconds. */
const RECORD_LOCK = 0x4c544143;
const lockConsumers = (): SqlTask<void> => lock('SELECT pg_advisory_xact_lock($1)', [RECORD_LOCK]);

function* writeAvailability(
  known: Availability | undefined,
  { unavailableSince, availableSince, stoppedAt, downtimes }: Availability,
): SqlTask<void> {
  const sql = known ? UPDATE_AVAILABILITY : ADD_AVAILABILITY;
  yield* query(sql, [unavailableSince, availableSince, stoppedAt, downtimes]);
}

const toDowntimes = (known: Availability | undefined): readonly Downtime[] =>
  JSON.parse(known?.downtimes ?? '[]');

/** A shorter one hides nothing in a bar of hours. */
const hasWholeHour = ({ unavailableSince, availableSince }: Downtime): boolean =>
  hourOf(availableSince) > Math.ceil(unavailableSince / HOUR_MS);

function addDowntime(known: Availability | undefined, last: Downtime): string | null {
  const first = last.availableSince - (BAR_HOURS + 1) * HOUR_MS;
  const kept = [...toDowntimes(known), last].filter(
    (one) => hasWholeHour(one) && one.availableSince > first && one.availableSince <= last.availableSince,
  );
  return kept.length === 0 ? null : JSON.stringify(kept);
}

/** Bookkeeping gives up soon, and is tried again. */
const SHORT: TaskOptions = { timeout: 'short' };

export function createConsumerStore({ dialect, read, write }: SqlDatabase): ConsumerStore {
  const sql = prepareSql(dialect);
  return {
    record: (summaries) =>
      write(function* () {
        yield* lockConsumers();
        return yield* mergeInto(sql, summaries);
      }, SHORT),

    async list(consumers) {
      const { companyId, userId, after, limit, maxPendingLeads, now, areRevoked } = consumers;
      if (![companyId ?? '', userId ?? ''].every(isStorable)) return [];
      const selected = userId ?? companyId;
      const statement =
        userId !== undefined
          ? sql.list[areRevoked ? 'revokedOfUser' : 'user']
          : companyId !== undefined
            ? sql.list.company
            : sql.list[areRevoked ? 'revoked' : 'all'];
      const start = [after?.userId ?? '', after?.tokenId ?? ''];
      const values = [now, limit, maxPendingLeads, ...start, ...(selected === undefined ? [] : [selected])];
      return read(function* () {
        const rows = yield* query<ListedRow>(statement, values);
        const [known] = yield* query<Availability>(READ_AVAILABILITY);
        const missed = yield* findMissedOf(sql, rows, maxPendingLeads);
        return rows
          .filter((row) => companyId === undefined || row.companyId === companyId)
          .map((row) => toConsumer(row, consumers, { downtime: toDowntime(known), missed: missed.get(row) }));
      });
    },

    findMissed: (queries, limit) => read(() => findMissedOfUsers(sql.moved, queries, limit)),

    async findReceivers(companyId, createdAt) {
      return isStorable(companyId) ? read(() => query(sql.moved.findReceivers, [companyId, createdAt])) : [];
    },

    async findReceivedHistory({ companyId, id }, limit) {
      if (!isStorable(companyId + id)) return [];
      return read(() => query(sql.moved.findHistory, [companyId, id, limit]));
    },

    async listEnded({ now, userId, after, limit }) {
      if (!isStorable(userId ?? '')) return [];
      const start = [after?.userId ?? '', after?.tokenId ?? '', after?.endedAt ?? 0];
      return read(function* () {
        const rows = yield* query<EndedRow>(LIST_ENDED, [
          now - ENDED_KEPT_MS,
          limit,
          ...start,
          userId ?? null,
        ]);
        return yield* toEndedConsumers(sql, rows);
      });
    },

    async findPending({ userId, since, maxPendingLeads }) {
      if (!isStorable(userId)) return undefined;
      const [row] = await read(() => query<PendingRow>(sql.findPending, [userId, since, maxPendingLeads]));
      if (!row) return undefined;
      const { pendingLeads, pendingSince, ...user } = row;
      return { user, pendingLeads: pendingLeads ?? 0, pendingSince };
    },

    async forget({ userId, tokenId }) {
      const forgotten = await write(function* () {
        yield* lockConsumers();
        yield* removeSubjects(sql.attempts, [consumerIdOf({ userId, tokenId })]);
        yield* endConsumer(userId, tokenId, yield* readNow());
        return yield* query(FORGET, [userId, tokenId ?? '']);
      }, SHORT);
      return forgotten.length > 0;
    },

    async prune(now, before) {
      const pruned = await write(function* () {
        yield* lockConsumers();
        yield* pruneEnded(now);
        const keys = yield* query<ConsumerKey>(PRUNE, [now, before]);
        yield* removeSubjects(sql.attempts, keys.map(consumerIdOf));
        return keys;
      }, SHORT);
      return pruned.length;
    },

    recordDowntime: (now, unavailableSince) =>
      write(function* () {
        yield* lockConsumers();
        const [polls] = yield* query<{ lastPollAt: number | null }>(LAST_POLL);
        const [known] = yield* query<Availability>(READ_AVAILABILITY);
        const { availableSince = null, stoppedAt = null } = known ?? {};
        const seen = [polls?.lastPollAt ?? null, availableSince, stoppedAt].filter((time) => time !== null);
        const lastSeen = seen.length > 0 ? Math.max(...seen) : now;
        const downtime = {
          unavailableSince: Math.min(now, unavailableSince ?? lastSeen),
          availableSince: now,
        };
        yield* writeAvailability(known, {
          ...downtime,
          stoppedAt: unavailableSince === undefined ? stoppedAt : now,
          downtimes: addDowntime(known, downtime),
        });
      }, SHORT),

    listDowntimes: () =>
      read(function* () {
        const [known] = yield* query<Availability>(READ_AVAILABILITY);
        return toDowntimes(known);
      }, SHORT),

    recordStop: (now) =>
      write(function* () {
        yield* lockConsumers();
        const [known] = yield* query<Availability>(READ_AVAILABILITY);
        yield* writeAvailability(known, {
          ...{ unavailableSince: null, availableSince: null, downtimes: null, ...known },
          stoppedAt: now,
        });
      }, SHORT),

    recordPause: () =>
      write(function* () {
        yield* lockConsumers();
        const [known] = yield* query<Availability>(READ_AVAILABILITY);
        yield* writeAvailability(known, {
          ...{ unavailableSince: null, availableSince: null, downtimes: null, ...known },
          stoppedAt: PAUSED,
        });
      }, SHORT),
  };
}

/** Under the lock, so that no other instance changes the rows between the statements. */
function* mergeInto(sql: Statements, summaries: readonly PollSummary[]): SqlTask<readonly ConsumerKey[]> {
  const logged: SubjectAttempts[] = [];
  const { keys, stored, changed } = yield* mergeTokenRows(sql, summaries, toPosition, (row, polls) => {
    const attempts = attemptsOf(row, polls);
    if (attempts.length > 0) logged.push({ subject: consumerIdOf(polls), userId: polls.userId, attempts });
    return mergePolls(row, polls, hoursOf(attempts));
  });
  yield* dropEmptyGaps(sql, stored, changed);
  yield* queryInChunks(sql.put, [...changed.values()].map(toStored));
  const sent = keys.flatMap((consumer, index) =>
    (summaries[index]?.sentPages ?? []).map((page) => ({
      ...{ ...page, consumer },
      firstPollAt: changed.get(tokenKeyText(consumer))?.firstPollAt ?? null,
    })),
  );
  yield* recordReceived(sql.moved, sent);
  yield* recordAttempts(sql.attempts, logged);
  return keys;
}

interface NewestInGap {
  readonly number: number;
  readonly newest: number | null;
}

/** The parts of a gap by recorded scope. */
function scopedRangesOf({ after, through }: Gap, scopes: string | null, number: number) {
  const recorded = parseScopes(scopes);
  return recorded.flatMap((part, index) =>
    scopesOf(part).map(({ level, companyId, ...place }) => ({
      ...{ number, level, companyId, branchId: null, departmentId: null, ...place },
      after: laterOf(after, part.after),
      through: Math.min(through, recorded[index + 1]?.after ?? through),
    })),
  );
}

/** Of the consumers whose gaps have changed. */
function* dropEmptyGaps(
  sql: Statements,
  stored: ReadonlyMap<string, ConsumerPosition>,
  written: Map<string, ConsumerPosition>,
): SqlTask<void> {
  const withGaps = [...written].filter(
    ([key, { gaps }]) => gaps.length > 0 && gaps !== stored.get(key)?.gaps,
  );
  if (withGaps.length === 0) return;
  const [known] = yield* query<Availability>(READ_AVAILABILITY);
  const pausedUntil = known?.stoppedAt === PAUSED ? known.availableSince : null;
  const changed = withGaps.map(([key, position]) => {
    const startedAt = startOfFirstPolls(stored.get(key), pausedUntil);
    return [key, { ...position, gaps: gapsSince(position.gaps, startedAt) }] as const;
  });
  const gaps = changed.flatMap(([, { userId, gaps, scopes }]) =>
    gaps.map((gap) => ({ gap, userId, scopes })),
  );
  const rows = yield* queryInChunks<NewestInGap & PollingUser>(
    sql.newestInGaps,
    gaps.map(({ gap: { after, through }, userId }, number) => ({ number, userId, after, through })),
  );
  // Leads that the user could see then, and cannot any more, were skipped, too.
  const scoped = rows.flatMap(({ number, ...user }) => {
    const { gap, scopes = null } = gaps[number] ?? {};
    const now = scopeOf(user);
    return gap && !(now && scopes === formatOnly(now)) ? scopedRangesOf(gap, scopes, number) : [];
  });
  const others = scoped.length > 0 ? yield* queryInChunks<NewestInGap>(sql.newestInScopedGaps, scoped) : [];
  const newest = new Map<Gap | undefined, number | null>();
  for (const row of [...rows, ...others]) {
    const gap = gaps[row.number]?.gap;
    newest.set(gap, laterOf(newest.get(gap) ?? null, row.newest));
  }
  for (const [key, position] of changed) {
    const startedAt = startOfFirstPolls(stored.get(key), startedAfterCrash(known));
    const newestIn = (gap: Gap): number | null => newest.get(gap) ?? null;
    written.set(key, { ...position, gaps: keepGapsWithLeads(position.gaps, newestIn, startedAt) });
  }
}
