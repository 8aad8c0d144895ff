/** Refused requests in a database. */
import { setImmediate } from 'node:timers/promises';
import type { LeadError, ProblemCode } from '@leadtap/contract';
import {
  type ColumnType,
  type Dialect,
  insertSql,
  isStorable,
  lock,
  query,
  type SqlDatabase,
  type SqlTask,
  selectFields,
  type Table,
  type TaskOptions,
} from '../sql/sql.ts';
import {
  type AcceptedRequest,
  MAX_REFUSED_BYTES,
  MAX_REFUSED_LEADS,
  type RefusedLeadStore,
  type RefusedLeadWithBody,
  type RefusedSummary,
  type RequestHashes,
  type SenderKey,
  type StoredRefusedLead,
} from './store.ts';

interface ListedRow extends Omit<StoredRefusedLead, 'sender' | 'answerMap' | 'errors'> {
  /** JSON. */
  readonly answerMap: string | null;
  readonly errors: string;
}

/** The body is base64: PostgreSQL stores no NUL in a text, and a refused body can contain anything. */
interface StoredRow extends ListedRow, RequestHashes {
  readonly body: string;
}

const LISTED: Table<ListedRow>['types'] = {
  id: 'text',
  companyId: 'text',
  userId: 'text',
  tokenId: 'nullAsEmpty',
  source: 'text',
  answerMap: 'text',
  timeZone: 'text',
  receivedAt: 'time',
  lastAt: 'time',
  times: 'integer',
  dropped: 'integer',
  code: 'text',
  bytes: 'integer',
  mediaType: 'text',
  errors: 'text',
};

export const REFUSED_LEADS: Table<StoredRow> = {
  name: 'refused_leads',
  key: ['id'],
  types: { ...LISTED, bodyHash: 'text', keyHash: 'text', body: 'text' },
};

const toRow = ({ body, answerMap, errors, ...refused }: RefusedLeadWithBody): StoredRow => ({
  ...refused,
  answerMap: answerMap && JSON.stringify(answerMap),
  errors: JSON.stringify(errors),
  dropped: 0,
  bytes: body.length,
  body: body.toString('base64'),
});

const fromRow = <Row extends ListedRow>({ answerMap, errors, ...row }: Row) => ({
  ...row,
  answerMap: answerMap === null ? null : (JSON.parse(answerMap) as Record<string, string>),
  errors: JSON.parse(errors) as LeadError[],
});

const SENDER = '(SELECT t.name FROM leadtap.issued_tokens AS t WHERE t.id = r.token_id)';
const SELECTED = `${selectFields(LISTED, 'r')}, ${SENDER} AS sender`;
const IS_OF_COMPANY = '(CAST($1 AS text) IS NULL OR r.company_id = $1)';
/** The values: company, id of the last one before, limit. */
const LIST = `
  SELECT ${SELECTED} FROM leadtap.refused_leads AS r WHERE ${IS_OF_COMPANY} AND r.id > $2 ORDER BY r.id LIMIT $3`;
const FIND = `
  SELECT ${selectFields(REFUSED_LEADS.types, 'r')}, ${SENDER} AS sender FROM leadtap.refused_leads AS r WHERE r.id = $1`;
const FIND_ANY = 'SELECT 1 AS one FROM leadtap.refused_leads LIMIT 1';
const HAS_NO_USER = `
  NOT EXISTS (SELECT 1 FROM leadtap.users AS u WHERE u.id = r.user_id AND u.company_id = r.company_id)`;
const PRUNE = `
  DELETE FROM leadtap.refused_leads AS r WHERE r.last_at < leadtap.from_ms($1) OR ${HAS_NO_USER} RETURNING 1`;

/**
 * The rows of a company that are beyond its bounds. Its users take turns, and so do the tokens of a user: one that floods, or changes its
 * tokens, loses its own oldest rows.
 */
const FIND_EXCESS = `
  SELECT f.id, f.user_id AS "userId", f.token_id AS "tokenId", f.times + f.dropped AS dropped FROM (
    SELECT u.*, row_number() OVER fair AS place, sum(u.bytes) OVER fair AS total FROM (
      SELECT t.*, row_number() OVER of_user AS place_of_user, sum(t.bytes) OVER of_user AS total_of_user FROM (
        SELECT r.id, r.user_id, r.token_id, r.times, r.dropped, r.bytes, r.last_at,
               row_number() OVER (PARTITION BY r.user_id, r.token_id ORDER BY r.last_at DESC, r.id DESC) AS place_of_token
          FROM leadtap.refused_leads AS r WHERE r.company_id = $1) AS t
      WINDOW of_user AS (PARTITION BY t.user_id ORDER BY t.place_of_token, t.last_at DESC, t.id DESC ROWS UNBOUNDED PRECEDING)) AS u
    WINDOW fair AS (ORDER BY u.place_of_user, u.last_at DESC, u.id DESC ROWS UNBOUNDED PRECEDING)) AS f
   WHERE f.place > ${MAX_REFUSED_LEADS} OR f.total > ${MAX_REFUSED_BYTES}
      OR f.place_of_user > ${MAX_REFUSED_LEADS / 2} OR f.total_of_user > ${MAX_REFUSED_BYTES / 2}`;
/** Of the newest row of the same token. */
const COUNT_DROPPED = `
  UPDATE leadtap.refused_leads SET dropped = dropped + $4 WHERE id = (
    SELECT r.id FROM leadtap.refused_leads AS r WHERE r.company_id = $1 AND r.user_id = $2 AND r.token_id = $3
     ORDER BY r.last_at DESC, r.id DESC LIMIT 1)`;
/** Over at least one bound. */
const FIND_FULL_USERS = `
  SELECT count(*) AS rows, sum(r.bytes) AS bytes FROM leadtap.refused_leads AS r WHERE r.company_id = $1 GROUP BY r.user_id`;

const WEEK_MS = 7 * 86_400_000;
const MAX_FIELDS = 20;

/** The values: start, and company. A company has at most 1,000 rows. */
const SUMMARIZE = `
  SELECT r.company_id AS "companyId", r.user_id AS "userId", nullif(r.token_id, '') AS "tokenId", r.code,
         count(*) AS kept, sum(r.times) AS requests, sum(r.dropped) AS dropped,
         leadtap.to_ms(min(r.received_at)) AS "firstAt", leadtap.to_ms(max(r.last_at)) AS "lastAt", max(r.id) AS newest
    FROM leadtap.refused_leads AS r WHERE r.company_id = $2 AND r.last_at > leadtap.from_ms($1)
   GROUP BY r.company_id, r.user_id, r.token_id, r.code ORDER BY max(r.last_at) DESC`;
/** One after the other: the index gives each at once. */
const NEXT_COMPANY = `
  SELECT min(r.company_id) AS "companyId" FROM leadtap.refused_leads AS r WHERE r.company_id > $1`;

interface SummaryRow extends SenderKey {
  readonly code: ProblemCode;
  readonly kept: number;
  readonly requests: number;
  readonly dropped: number;
  readonly firstAt: number;
  readonly lastAt: number;
  /** The id of the newest row. */
  readonly newest: string;
}

const mostFrequent = (rows: readonly SummaryRow[]): SummaryRow =>
  rows.reduce((most, row) => (row.requests > most.requests ? row : most));

const ACCEPTED: Record<keyof AcceptedRequest, ColumnType> = {
  companyId: 'text',
  userId: 'text',
  source: 'text',
  at: 'time',
  bodyHash: 'text',
  keyHash: 'text',
};
const IS_SAME_REQUEST = `r.user_id = k."userId" AND coalesce(r.source, '') = coalesce(k.source, '')`;
/** With a used key, another body is refused: nothing of it was accepted. */
const IS_SAME_ATTEMPT = "r.code <> 'idempotency-key-reused'";

const prepareSql = (dialect: Dialect) => {
  const accepted = dialect.rows('$1', ACCEPTED);
  return {
    put: `${insertSql(dialect, REFUSED_LEADS)}
      ON CONFLICT (company_id, user_id, token_id, body_hash) DO UPDATE SET
        times = refused_leads.times + excluded.times,
        last_at = CASE WHEN excluded.last_at > refused_leads.last_at THEN excluded.last_at ELSE refused_leads.last_at END,
        code = excluded.code, errors = excluded.errors, media_type = excluded.media_type,
        key_hash = coalesce(excluded.key_hash, refused_leads.key_hash)`,
    findUsers: `
      SELECT u.id AS "userId", u.company_id AS "companyId" FROM leadtap.users AS u WHERE ${dialect.isIn('u.id', '$1')}`,
    /** Two joins, because an OR would not use the indexes. */
    findAccepted: `
      SELECT r.id FROM ${accepted} AS k ${dialect.joinEach(
        'refused_leads',
        'r',
        `r.company_id = k."companyId" AND r.body_hash = k."bodyHash" AND ${IS_SAME_REQUEST} AND r.last_at <= k.at`,
        'refused_leads_by_body',
      )}
      UNION ALL
      SELECT r.id FROM ${accepted} AS k ${dialect.joinEach(
        'refused_leads',
        'r',
        `r.company_id = k."companyId" AND r.key_hash = k."keyHash" AND ${IS_SAME_ATTEMPT} AND r.last_at <= k.at`,
        'refused_leads_by_key',
      )}`,
    remove: `DELETE FROM leadtap.refused_leads WHERE ${dialect.isIn('id', '$1')} RETURNING 1`,
    findErrors: `SELECT r.id, r.errors FROM leadtap.refused_leads AS r WHERE ${dialect.isIn('r.id', '$1')}`,
  };
};

/** "LTRF". Instances write one after the other, so that two of them do not exceed the bounds together. */
const RECORD_LOCK = 0x4c545246;
const lockRefused = (): SqlTask<void> => lock('SELECT pg_advisory_xact_lock($1)', [RECORD_LOCK]);

/** Bookkeeping gives up soon, and is tried again. */
const SHORT: TaskOptions = { timeout: 'short' };

const senderKey = ({ companyId, userId, tokenId }: SenderKey): string =>
  JSON.stringify([companyId, userId, tokenId]);
const userKey = ({ companyId, userId }: Pick<SenderKey, 'companyId' | 'userId'>): string =>
  JSON.stringify([companyId, userId]);

export function createRefusedLeadStore({ dialect, read, write }: SqlDatabase): RefusedLeadStore {
  const sql = prepareSql(dialect);

  function* record(refused: readonly RefusedLeadWithBody[]): SqlTask<void> {
    yield* lockRefused();
    const userIds = [...new Set(refused.map(({ userId }) => userId))];
    const users = yield* query<Pick<SenderKey, 'companyId' | 'userId'>>(sql.findUsers, [userIds]);
    const known = new Set(users.map(userKey));
    const rows = refused.filter((one) => known.has(userKey(one))).map(toRow);
    if (rows.length === 0) return;
    yield* query(sql.put, [JSON.stringify(rows)]);
    for (const companyId of new Set(rows.map((row) => row.companyId))) yield* dropExcess(companyId);
  }

  function* dropExcess(companyId: string): SqlTask<void> {
    const users = yield* query<{ rows: number; bytes: number }>(FIND_FULL_USERS, [companyId]);
    const [most, size, all, bytes] = [
      Math.max(...users.map((user) => user.rows)),
      Math.max(...users.map((user) => user.bytes)),
      users.reduce((sum, user) => sum + user.rows, 0),
      users.reduce((sum, user) => sum + user.bytes, 0),
    ];
    const isUserFull = most > MAX_REFUSED_LEADS / 2 || size > MAX_REFUSED_BYTES / 2;
    if (!isUserFull && all <= MAX_REFUSED_LEADS && bytes <= MAX_REFUSED_BYTES) return;
    const excess = yield* query<{ id: string; userId: string; tokenId: string; dropped: number }>(
      FIND_EXCESS,
      [companyId],
    );
    yield* query(sql.remove, [excess.map(({ id }) => id)]);
    for (const { userId, tokenId, dropped } of excess)
      yield* query(COUNT_DROPPED, [companyId, userId, tokenId, dropped]);
  }

  function* summarizeCompany(start: number, companyId: string): SqlTask<RefusedSummary[]> {
    const rows = yield* query<SummaryRow>(SUMMARIZE, [start, companyId]);
    const bySender = new Map<string, SummaryRow[]>();
    for (const row of rows) {
      const others = bySender.get(senderKey(row));
      if (others) others.push(row);
      else bySender.set(senderKey(row), [row]);
    }
    const senders = [...bySender.values()].map((of) => ({ of, main: mostFrequent(of) }));
    const newest = senders.map(({ main }) => main.newest);
    const found = yield* query<{ id: string; errors: string }>(sql.findErrors, [newest]);
    const errors = new Map(found.map((row) => [row.id, JSON.parse(row.errors) as LeadError[]]));
    return senders.map(({ of, main: { userId, tokenId, code, newest } }): RefusedSummary => {
      const names = (errors.get(newest) ?? []).flatMap(({ field }) => field ?? []);
      return {
        ...{ companyId, userId, tokenId, code },
        kept: of.reduce((sum, { kept }) => sum + kept, 0),
        requests: of.reduce((sum, { requests }) => sum + requests, 0),
        dropped: of.reduce((sum, { dropped }) => sum + dropped, 0),
        firstAt: Math.min(...of.map(({ firstAt }) => firstAt)),
        lastAt: Math.max(...of.map(({ lastAt }) => lastAt)),
        fields: [...new Set(names)].slice(0, MAX_FIELDS),
      };
    });
  }

  return {
    record: (refused) => write(() => record(refused), SHORT),

    async isEmpty() {
      return (await read(() => query(FIND_ANY), SHORT)).length === 0;
    },

    async removeAccepted(accepted) {
      // A read, because there is nearly never a row: it takes no lock.
      const found = await read(
        () => query<{ id: string }>(sql.findAccepted, [JSON.stringify(accepted)]),
        SHORT,
      );
      if (found.length === 0) return 0;
      const ids = found.map(({ id }) => id);
      return (await write(() => query(sql.remove, [ids]), SHORT)).length;
    },

    async prune(before) {
      return (await write(() => query(PRUNE, [before]), SHORT)).length;
    },

    async list({ companyId, after = '', limit }) {
      if (![companyId ?? '', after].every(isStorable)) return [];
      const rows = await read(() =>
        query<ListedRow & { sender: string | null }>(LIST, [companyId ?? null, after, limit]),
      );
      return rows.map(fromRow);
    },

    async find(id) {
      if (!isStorable(id)) return undefined;
      const [row] = await read(() => query<StoredRow & { sender: string | null }>(FIND, [id]));
      return row && { ...fromRow(row), body: Buffer.from(row.body, 'base64') };
    },

    async remove(ids) {
      return (await write(() => query(sql.remove, [ids.filter(isStorable)]))).length;
    },

    async summarize({ companyId, now }) {
      if (!isStorable(companyId ?? '')) return [];
      const start = now - WEEK_MS;
      if (companyId !== undefined) return read(() => summarizeCompany(start, companyId));
      const summaries: RefusedSummary[] = [];
      for (let last = ''; ; ) {
        const next = await read(() => query<{ companyId: string | null }>(NEXT_COMPANY, [last]));
        const of = next[0]?.companyId ?? null;
        if (of === null) return summaries;
        summaries.push(...(await read(() => summarizeCompany(start, of))));
        last = of;
        // SQLite reads synchronously. Polls are answered between two companies.
        await setImmediate();
      }
    },
  };
}
