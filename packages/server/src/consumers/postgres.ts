/** The consumers: how far each token has come. */

import { type Database, isStorable, queryInChunks, type Session } from '../store/postgres/connection.ts';
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
  type ConsumerKey,
  type ConsumerPosition,
  type ConsumerStore,
  consumerKeyText,
  ENDED_TOKEN_MS,
  MAX_CONSUMERS_PER_USER,
  mergePolls,
  type PollSummary,
  startOfFirstPolls,
} from './store.ts';

/** "LTAC". Instances merge their polls one after the other: it takes milliseconds, every few seconds. */
const RECORD_LOCK = 0x4c544143;
/** Bookkeeping gives up soon, and is tried again. */
const TIMEOUTS = { statementTimeoutMs: 5000, lockTimeoutMs: 2000 };

const COLUMNS = Object.entries(CONSUMER_COLUMNS);
const NAMES = COLUMNS.map(([name]) => name);
const SELECTED = COLUMNS.map(([name, kind]) =>
  kind === 'time' ? `leadtap.to_ms(c.${name}) AS ${name}` : `c.${name}`,
).join(', ');
const STORED = COLUMNS.map(([name, kind]) => (kind === 'time' ? `leadtap.from_ms(r.${name})` : `r.${name}`));
const TYPES = { text: 'text', time: 'bigint', integer: 'integer' };
const RECORD = `json_to_recordset($1) AS r (${COLUMNS.map(([name, kind]) => `${name} ${TYPES[kind]}`).join(', ')})`;

const FIND = `
  SELECT ${SELECTED} FROM json_to_recordset($1) AS k (user_id text, token_id text)
    JOIN leadtap.consumers AS c ON c.user_id = k.user_id AND c.token_id = k.token_id`;
const PUT = `
  INSERT INTO leadtap.consumers (${NAMES.join(', ')}) SELECT ${STORED.join(', ')} FROM ${RECORD}
  ON CONFLICT (user_id, token_id) DO UPDATE SET ${NAMES.map((name) => `${name} = excluded.${name}`).join(', ')}`;

const COUNT = `
  SELECT user_id AS "userId", count(*) AS count FROM leadtap.consumers
   WHERE user_id = ANY ($1) AND token_id <> '${NO_TOKEN_ID}' GROUP BY user_id`;

const IS_REVOKED = 'EXISTS (SELECT FROM leadtap.revoked_tokens AS r WHERE r.token_id = c.token_id)';
/** A revoked token that is still used is listed, so that it is noticed. */
const IS_OVER = `${IS_REVOKED} AND NOT (c.last_status = 401 AND c.last_poll_at > leadtap.from_ms($1::bigint - ${ENDED_TOKEN_MS}))`;
const isIssued = (consumer: string): string =>
  `EXISTS (SELECT FROM leadtap.issued_tokens AS i WHERE i.id = ${consumer}.token_id)`;
/** An expired token of an identity provider, and the client has another one: a token of the user that has polled since. */
const IS_REPLACED = `c.token_expires_at <= leadtap.from_ms($1) AND c.token_id <> '${NO_TOKEN_ID}' AND NOT ${isIssued('c')}
  AND EXISTS (SELECT FROM leadtap.consumers AS o WHERE o.user_id = c.user_id AND o.last_poll_at > c.last_poll_at AND NOT ${isIssued('o')})`;

/** The leads that a user may see, by access level: each is a range of one index, of which one is read. */
const LEVELS = {
  COMPANY: 'true',
  BRANCH: 'l.branch_id = c.branch_id',
  DEPARTMENT: 'l.department_id = c.department_id',
};
const leadsIn = (range: string, order: string): string =>
  Object.entries(LEVELS)
    .map(
      ([level, place]) => `(
      SELECT l.created_at FROM leadtap.leads AS l
       WHERE c.access_level = '${level}' AND l.company_id = c.company_id AND ${place}
         AND ${range} ORDER BY l.created_at ${order})`,
    )
    .join(' UNION ALL ');
const PENDING = leadsIn(
  "l.created_at > coalesce(greatest(c.confirmed_through, c.delivered_through), '-infinity')",
  'LIMIT $3',
);
const UNCONFIRMED = leadsIn(
  'l.created_at > c.confirmed_through AND l.created_at <= c.delivered_through',
  'LIMIT 1',
);
const IN_GAP = `l.created_at > coalesce(leadtap.from_ms(g."after"), '-infinity') AND l.created_at <= leadtap.from_ms(g.through)`;
const GAP_COLUMNS = '"after" bigint, through bigint, "isBeforeStart" boolean';
const SKIPPED = `
  SELECT s.created_at FROM json_to_recordset(c.gaps::json) AS g (${GAP_COLUMNS})
   CROSS JOIN LATERAL (${leadsIn(IN_GAP, 'LIMIT $3')}) AS s WHERE NOT g."isBeforeStart" LIMIT $3`;

const NEWEST_IN_GAPS = `
  SELECT g.index, leadtap.to_ms(l.created_at) AS newest
    FROM json_to_recordset($1) AS g (index integer, user_id text, "after" bigint, through bigint)
    JOIN leadtap.users AS c ON c.id = g.user_id
   CROSS JOIN LATERAL (${leadsIn(IN_GAP, 'DESC LIMIT 1')}) AS l`;

/**
 * Its values: now, limit, the maximum of the counts, user and token of the last consumer before, company, user. The page is chosen
 * first, so that leads are counted for its consumers alone. It is read in the order of the index of consumers: LATERAL, OFFSET and
 * IS FALSE keep the planner from joins that begin with the users or the tokens, which read all of them for a page.
 */
const LIST = `
  WITH page AS MATERIALIZED (
    SELECT c.*, u.company_id, u.plan, u.access_level, u.branch_id, u.department_id, t.name, t.issued_at
      FROM leadtap.consumers AS c
     CROSS JOIN LATERAL (SELECT * FROM leadtap.users AS u WHERE u.id = c.user_id OFFSET 0) AS u
      LEFT JOIN LATERAL (SELECT t.name, t.issued_at FROM leadtap.issued_tokens AS t WHERE t.id = c.token_id OFFSET 0) AS t ON true
     WHERE (c.user_id, c.token_id) > ($4, $5)
       AND ($6::text IS NULL OR u.company_id = $6) AND ($7::text IS NULL OR c.user_id = $7)
       AND (${IS_OVER}) IS FALSE AND (${IS_REPLACED}) IS NOT TRUE
     ORDER BY c.user_id, c.token_id LIMIT $2)
  SELECT ${SELECTED}, c.company_id, c.plan, c.access_level, c.branch_id, c.department_id, c.name,
         leadtap.to_ms(c.issued_at) AS token_issued_at, ${IS_REVOKED} AS is_revoked,
         w.pending, leadtap.to_ms(w.since) AS pending_since, s.skipped, leadtap.to_ms(s.since) AS skipped_since,
         leadtap.to_ms(n.since) AS unconfirmed_since,
         leadtap.to_ms(a.unavailable_since) AS unavailable_since, leadtap.to_ms(a.available_since) AS available_since
    FROM page AS c LEFT JOIN leadtap.availability AS a ON true
   CROSS JOIN LATERAL (SELECT count(*) AS pending, min(l.created_at) AS since FROM (${PENDING}) AS l) AS w
   CROSS JOIN LATERAL (SELECT count(*) AS skipped, min(l.created_at) AS since FROM (${SKIPPED}) AS l) AS s
   CROSS JOIN LATERAL (SELECT min(l.created_at) AS since FROM (${UNCONFIRMED}) AS l) AS n
   ORDER BY c.user_id, c.token_id`;

/**
 * A table without statistics would be read as a whole, once for each consumer. With statistics, a merge join would read all users
 * before those of the page, and a hash join all of them.
 */
export const INDEX_SCANS = `SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_mergejoin = off;
  SET LOCAL enable_hashjoin = off; SET LOCAL jit = off`;

const PRUNE = `
  DELETE FROM leadtap.consumers AS c
   WHERE c.last_poll_at < leadtap.from_ms($2) OR NOT EXISTS (SELECT FROM leadtap.users AS u WHERE u.id = c.user_id)
      OR (${IS_OVER}) OR (${IS_REPLACED}) RETURNING 1`;

const ISSUED = `
  SELECT k.user_id, k.token_id FROM json_to_recordset($1) AS k (user_id text, token_id text)
    JOIN leadtap.issued_tokens AS i ON i.id = k.token_id AND i.user_id = k.user_id`;

/** After a crash. A stop that is recorded is none, and neither is a database that was unreachable. */
const STARTED_AT = `SELECT leadtap.to_ms(available_since) AS "startedAt" FROM leadtap.availability
  WHERE coalesce(stopped_at < unavailable_since, true)`;
/** Its values: now, and since when the service was unavailable, or null. */
const RECORD_DOWNTIME = `
  INSERT INTO leadtap.availability AS a (unavailable_since, available_since)
  VALUES (least(leadtap.from_ms($1),
            coalesce(leadtap.from_ms($2), (SELECT max(last_poll_at) FROM leadtap.consumers))), leadtap.from_ms($1))
  ON CONFLICT (id) DO UPDATE SET available_since = excluded.available_since, unavailable_since =
    CASE WHEN $2::bigint IS NULL THEN least(leadtap.from_ms($1), greatest(excluded.unavailable_since, a.available_since, a.stopped_at))
         ELSE excluded.unavailable_since END,
    stopped_at = CASE WHEN $2::bigint IS NULL THEN a.stopped_at ELSE leadtap.from_ms($1) END`;
const RECORD_STOP = `
  INSERT INTO leadtap.availability (stopped_at) VALUES (leadtap.from_ms($1))
  ON CONFLICT (id) DO UPDATE SET stopped_at = excluded.stopped_at`;

export const consumerMethods = (database: Database): ConsumerStore => ({
  record: (summaries) =>
    database.transaction(async (session) => {
      await session.query('SELECT pg_advisory_xact_lock($1)', [RECORD_LOCK]);
      return mergeInto(session, summaries);
    }, TIMEOUTS),

  async list({ companyId, userId, after, limit, maxPendingLeads, now }) {
    if (![companyId ?? '', userId ?? ''].every(isStorable)) return [];
    const start = after ? [after.userId, after.tokenId ?? NO_TOKEN_ID] : ['', ''];
    const values = [now, limit, maxPendingLeads, ...start, companyId ?? null, userId ?? null];
    const rows = await database.transaction(async (session) => {
      await session.query(INDEX_SCANS);
      return session.query<ListedRow>(LIST, values);
    });
    return rows.map((row) => toConsumer(row, now));
  },

  prune: (now, before) =>
    database.transaction(async (session) => {
      await session.query('SELECT pg_advisory_xact_lock($1)', [RECORD_LOCK]);
      return (await session.query(PRUNE, [now, before])).length;
    }, TIMEOUTS),

  recordDowntime: (now, unavailableSince) =>
    database.transaction(async (session) => {
      await session.query(RECORD_DOWNTIME, [now, unavailableSince ?? null]);
    }, TIMEOUTS),

  recordStop: (now) =>
    database.transaction(async (session) => {
      await session.query(RECORD_STOP, [now]);
    }, TIMEOUTS),
});

/** Under the lock, so that no other instance changes the rows between the statements. */
async function mergeInto(session: Session, summaries: readonly PollSummary[]): Promise<ConsumerKey[]> {
  const positions = await findPositions(session, summaries);
  const stored = new Map(positions);
  const isIssued = await findIssued(
    session,
    summaries.filter(({ mustBeIssued }) => mustBeIssued),
  );
  const isNew = (key: ConsumerKey): boolean => key.tokenId !== null && !positions.has(consumerKeyText(key));
  const userIds = [...new Set(summaries.filter(isNew).map(({ userId }) => userId))];
  const counts = await countConsumers(session, userIds);
  const withoutId = userIds.map((userId) => ({ userId, tokenId: null }));
  for (const [key, position] of await findPositions(session, withoutId)) positions.set(key, position);
  const written = new Map<string, ConsumerPosition>();
  const keys = summaries.map((polls) => {
    const { userId } = polls;
    if (polls.mustBeIssued && !isIssued(polls)) return polls;
    const count = counts.get(userId) ?? 0;
    const tokenId = isNew(polls) && count >= MAX_CONSUMERS_PER_USER ? null : polls.tokenId;
    if (isNew({ userId, tokenId })) counts.set(userId, count + 1);
    const key = consumerKeyText({ userId, tokenId });
    const position = mergePolls(positions.get(key), { ...polls, tokenId });
    positions.set(key, position);
    written.set(key, position);
    return { userId, tokenId };
  });
  await dropEmptyGaps(session, stored, written);
  await queryInChunks(session, PUT, [...written.values()].map(toRow));
  return keys;
}

async function findIssued(
  session: Session,
  keys: readonly ConsumerKey[],
): Promise<(key: ConsumerKey) => boolean> {
  if (keys.length === 0) return () => false;
  const rows = await queryInChunks<KeyRow>(session, ISSUED, keys.map(toKeyRow));
  const found = new Set(
    rows.map(({ user_id: userId, token_id: tokenId }) => consumerKeyText({ userId, tokenId })),
  );
  return (key) => found.has(consumerKeyText(key));
}

/** Of the consumers whose gaps have changed. */
async function dropEmptyGaps(
  session: Session,
  stored: ReadonlyMap<string, ConsumerPosition>,
  written: Map<string, ConsumerPosition>,
): Promise<void> {
  const changed = [...written].filter(([key, { gaps }]) => gaps.length > 0 && gaps !== stored.get(key)?.gaps);
  if (changed.length === 0) return;
  const gaps = changed.flatMap(([, position]) => position.gaps.map((gap) => ({ gap, position })));
  const values = gaps.map(({ gap: { after, through }, position }, index) => ({
    ...{ index, user_id: position.userId, after, through },
  }));
  await session.query(INDEX_SCANS);
  const [row] = await session.query<{ startedAt: number | null }>(STARTED_AT);
  const newest = new Map<Gap, number>();
  for (const found of await queryInChunks<{ index: number; newest: number }>(
    session,
    NEWEST_IN_GAPS,
    values,
  )) {
    const gap = gaps[found.index]?.gap;
    if (gap) newest.set(gap, found.newest);
  }
  for (const [key, position] of changed) {
    const newestIn = (gap: Gap) => newest.get(gap) ?? null;
    const startedAt = startOfFirstPolls(stored.get(key), row?.startedAt);
    written.set(key, { ...position, gaps: keepGapsWithLeads(position.gaps, newestIn, startedAt) });
  }
}

type KeyRow = Pick<ConsumerRow, 'user_id' | 'token_id'>;

const toKeyRow = ({ userId, tokenId }: ConsumerKey): KeyRow => ({
  user_id: userId,
  token_id: tokenId ?? NO_TOKEN_ID,
});

async function findPositions(
  session: Session,
  keys: readonly ConsumerKey[],
): Promise<Map<string, ConsumerPosition>> {
  if (keys.length === 0) return new Map();
  const rows = await queryInChunks<ConsumerRow>(session, FIND, keys.map(toKeyRow));
  return new Map(rows.map(fromRow).map((position) => [consumerKeyText(position), position]));
}

async function countConsumers(session: Session, userIds: readonly string[]): Promise<Map<string, number>> {
  if (userIds.length === 0) return new Map();
  const rows = await session.query<{ userId: string; count: number }>(COUNT, [userIds]);
  return new Map(rows.map(({ userId, count }) => [userId, count]));
}
