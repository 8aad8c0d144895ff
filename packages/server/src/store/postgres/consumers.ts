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
  type ConsumerKey,
  type ConsumerPosition,
  type ConsumerStore,
  consumerKeyText,
  MAX_CONSUMERS_PER_USER,
  mergePolls,
  type PollSummary,
} from '../consumers.ts';
import { type Database, isStorable, queryInChunks, type Session } from './connection.ts';

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
/** An expired token of an identity provider: the client has another one. */
const IS_REPLACED = `c.token_expires_at <= leadtap.from_ms($1)
  AND NOT EXISTS (SELECT FROM leadtap.issued_tokens AS i WHERE i.id = c.token_id)`;

/** The pending leads that a user may see, by access level: each is a range of one index, of which one is read. */
const LEVELS = {
  COMPANY: 'true',
  BRANCH: 'l.branch_id = c.branch_id',
  DEPARTMENT: 'l.department_id = c.department_id',
};
const LEADS = Object.entries(LEVELS)
  .map(
    ([level, place]) => `(
      SELECT l.created_at FROM leadtap.leads AS l
       WHERE c.access_level = '${level}' AND l.company_id = c.company_id AND ${place}
         AND l.created_at > coalesce(greatest(c.confirmed_through, c.delivered_through), '-infinity')
       ORDER BY l.created_at LIMIT $3)`,
  )
  .join(' UNION ALL ');

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
       AND (${IS_REVOKED}) IS FALSE AND (${IS_REPLACED}) IS NOT TRUE
     ORDER BY c.user_id, c.token_id LIMIT $2)
  SELECT ${SELECTED}, c.company_id, c.plan, c.access_level, c.branch_id, c.department_id, c.name,
         leadtap.to_ms(c.issued_at) AS token_issued_at,
         w.pending, leadtap.to_ms(w.since) AS pending_since
    FROM page AS c
   CROSS JOIN LATERAL (SELECT count(*) AS pending, min(l.created_at) AS since FROM (${LEADS}) AS l) AS w
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
      OR ${IS_REVOKED} OR ${IS_REPLACED} RETURNING 1`;

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
    return rows.map(toConsumer);
  },

  prune: (now, before) =>
    database.transaction(async (session) => {
      await session.query('SELECT pg_advisory_xact_lock($1)', [RECORD_LOCK]);
      return (await session.query(PRUNE, [now, before])).length;
    }, TIMEOUTS),
});

/** Under the lock, so that no other instance changes the rows between the statements. */
async function mergeInto(session: Session, summaries: readonly PollSummary[]): Promise<ConsumerKey[]> {
  const positions = await findPositions(session, summaries);
  const isNew = (key: ConsumerKey): boolean => key.tokenId !== null && !positions.has(consumerKeyText(key));
  const userIds = [...new Set(summaries.filter(isNew).map(({ userId }) => userId))];
  const counts = await countConsumers(session, userIds);
  const withoutId = userIds.map((userId) => ({ userId, tokenId: null }));
  for (const [key, position] of await findPositions(session, withoutId)) positions.set(key, position);
  const written = new Map<string, ConsumerPosition>();
  const keys = summaries.map((polls) => {
    const { userId } = polls;
    const count = counts.get(userId) ?? 0;
    const tokenId = isNew(polls) && count >= MAX_CONSUMERS_PER_USER ? null : polls.tokenId;
    if (isNew({ userId, tokenId })) counts.set(userId, count + 1);
    const key = consumerKeyText({ userId, tokenId });
    const position = mergePolls(positions.get(key), { ...polls, tokenId });
    positions.set(key, position);
    written.set(key, position);
    return { userId, tokenId };
  });
  await queryInChunks(session, PUT, [...written.values()].map(toRow));
  return keys;
}

async function findPositions(
  session: Session,
  keys: readonly ConsumerKey[],
): Promise<Map<string, ConsumerPosition>> {
  if (keys.length === 0) return new Map();
  const values = keys.map(({ userId, tokenId }) => ({ user_id: userId, token_id: tokenId ?? NO_TOKEN_ID }));
  const rows = await queryInChunks<ConsumerRow>(session, FIND, values);
  return new Map(rows.map(fromRow).map((position) => [consumerKeyText(position), position]));
}

async function countConsumers(session: Session, userIds: readonly string[]): Promise<Map<string, number>> {
  if (userIds.length === 0) return new Map();
  const rows = await session.query<{ userId: string; count: number }>(COUNT, [userIds]);
  return new Map(rows.map(({ userId, count }) => [userId, count]));
}
