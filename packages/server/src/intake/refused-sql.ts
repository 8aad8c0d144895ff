/** Refused requests in a database. */
import type { LeadError, ProblemCode } from '@leadtap/contract';
import type { TokenKey } from '../accounts/token-key.ts';
import { takeTurn } from '../lib/event-loop.ts';
import {
  type ColumnType,
  type Dialect,
  insertSql,
  isStorable,
  query,
  type SqlDatabase,
  type SqlTask,
  selectFields,
  type Table,
  type TaskOptions,
} from '../sql/sql.ts';
import { dayOf, toDay } from './merge-senders.ts';
import { prepareRecordSenders } from './sender-sql.ts';
import {
  type AcceptedRequest,
  MAX_REFUSED_BYTES,
  MAX_REFUSED_LEADS,
  REFUSED_DAYS,
  type RefusedLeadStore,
  type RefusedLeadWithBody,
  type RefusedSummary,
  type SenderKey,
  type StoredRefusedLead,
} from './store.ts';

interface ListedRow extends Omit<StoredRefusedLead, 'sender' | 'answerMap' | 'errors'> {
  /** JSON. */
  readonly answerMap: string | null;
  readonly errors: string;
}

/** The body is base64: PostgreSQL stores no NUL in a text, and a refused body can contain anything. */
interface StoredRow extends ListedRow {
  readonly bodyHash: string;
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
  code: 'text',
  bytes: 'integer',
  mediaType: 'text',
  errors: 'text',
};

const WITH_BODY = { ...LISTED, bodyHash: 'text', body: 'text' } as const;

export const REFUSED_LEADS: Table<StoredRow> = {
  name: 'refused_leads',
  key: ['id'],
  types: WITH_BODY,
};

type FoundRow = StoredRow & { readonly sender: string | null };

const toRow = ({ body, answerMap, errors, ...refused }: RefusedLeadWithBody): StoredRow => ({
  ...refused,
  answerMap: answerMap && JSON.stringify(answerMap),
  errors: JSON.stringify(errors),
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
  SELECT ${selectFields(WITH_BODY, 'r')}, ${SENDER} AS sender FROM leadtap.refused_leads AS r WHERE r.id = $1`;
const HAS_NO_USER = `
  NOT EXISTS (SELECT 1 FROM leadtap.users AS u WHERE u.id = r.user_id AND u.company_id = r.company_id)`;
const PRUNE_REMOVED = `DELETE FROM leadtap.refused_leads AS r WHERE ${HAS_NO_USER} RETURNING 1`;
const PRUNE_OLD = `
  DELETE FROM leadtap.refused_leads WHERE last_at < leadtap.from_ms($1)
  RETURNING user_id AS "userId", nullif(token_id, '') AS "tokenId", source, leadtap.to_ms(last_at) AS "lastAt", times`;

const SIZES = `
  SELECT r.user_id AS "userId", nullif(r.token_id, '') AS "tokenId", count(*) AS requests, sum(r.bytes) AS bytes
    FROM leadtap.refused_leads AS r WHERE r.company_id = $1 GROUP BY r.user_id, r.token_id`;

/** SQLite answers no poll while it overwrites what it deletes: some milliseconds. */
const MAX_BYTES_PER_REMOVAL = 512 * 1024;
/** What a row takes besides its body. */
const ROW_BYTES = 4096;

const HELD_MS = REFUSED_DAYS * 86_400_000;
const MAX_FIELDS = 20;

/** A company has at most 1,000 rows. */
const SUMMARIZE = `
  SELECT r.company_id AS "companyId", r.user_id AS "userId", nullif(r.token_id, '') AS "tokenId", r.code,
         count(*) AS held, sum(r.times) AS requests,
         leadtap.to_ms(min(r.received_at)) AS "firstAt", leadtap.to_ms(max(r.last_at)) AS "lastAt", max(r.id) AS newest
    FROM leadtap.refused_leads AS r WHERE r.company_id = $1
   GROUP BY r.company_id, r.user_id, r.token_id, r.code ORDER BY max(r.last_at) DESC`;
/** One after the other: the index gives each at once. */
const NEXT_COMPANY = `
  SELECT min(r.company_id) AS "companyId" FROM leadtap.refused_leads AS r WHERE r.company_id > $1`;

interface DeletedRow extends TokenKey {
  readonly source: string | null;
  readonly lastAt: number;
  readonly times: number;
}

interface SummaryRow extends SenderKey {
  readonly code: ProblemCode;
  readonly held: number;
  readonly requests: number;
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
};

const SENDER_AND_BODY = { companyId: 'text', userId: 'text', tokenId: 'text', bodyHash: 'text' } as const;

const prepareSql = (dialect: Dialect) => {
  return {
    put: `${insertSql(dialect, REFUSED_LEADS)}
      ON CONFLICT (company_id, user_id, token_id, body_hash) DO UPDATE SET
        times = refused_leads.times + excluded.times,
        last_at = CASE WHEN excluded.last_at > refused_leads.last_at THEN excluded.last_at ELSE refused_leads.last_at END,
        code = excluded.code, errors = excluded.errors, media_type = excluded.media_type`,
    findUsers: `
      SELECT u.id AS "userId", u.company_id AS "companyId" FROM leadtap.users AS u WHERE ${dialect.isIn('u.id', '$1')}`,
    findKnown: `
      SELECT k.id FROM ${dialect.rows('$1', { id: 'text', ...SENDER_AND_BODY })} AS k ${dialect.joinEach(
        'refused_leads',
        'r',
        `r.company_id = k."companyId" AND r.user_id = k."userId"
          AND r.token_id = coalesce(k."tokenId", '') AND r.body_hash = k."bodyHash"`,
      )}`,
    // The first rows. One that another instance has just recorded again has another `last_at`, and stays.
    removeAccepted: `
      DELETE FROM leadtap.refused_leads WHERE (id, last_at) IN (
        SELECT f.id, f.last_at FROM (
          SELECT r.id, r.last_at, r.bytes, sum(r.bytes + ${ROW_BYTES}) OVER (ORDER BY r.id ROWS UNBOUNDED PRECEDING) AS total
            FROM ${dialect.rows('$1', ACCEPTED)} AS k ${dialect.joinEach(
              'refused_leads',
              'r',
              `r.company_id = k."companyId" AND r.body_hash = k."bodyHash" AND r.user_id = k."userId"
                AND coalesce(r.source, '') = coalesce(k.source, '') AND r.last_at <= k.at`,
              'refused_leads_by_body',
            )}) AS f
         WHERE f.total - f.bytes - ${ROW_BYTES} < ${MAX_BYTES_PER_REMOVAL}) RETURNING 1`,
    remove: `DELETE FROM leadtap.refused_leads WHERE ${dialect.isIn('id', '$1')} RETURNING 1`,
    findErrors: `SELECT r.id, r.errors FROM leadtap.refused_leads AS r WHERE ${dialect.isIn('r.id', '$1')}`,
  };
};

interface Size extends TokenKey {
  readonly requests: number;
  readonly bytes: number;
}

/** What may still be held. */
class Room {
  /** By company, and by sender. */
  readonly #sizes = new Map<string, Pick<Size, 'requests' | 'bytes'>>();

  add(companyId: string, sizes: readonly Size[]): void {
    for (const { userId, tokenId, requests, bytes } of sizes)
      this.#count({ companyId, userId, tokenId }, requests, bytes);
  }

  /** False if there is no room for the row. */
  take(row: StoredRow): boolean {
    if (!this.#fits(companyKey(row), row.bytes, 1) || !this.#fits(senderKey(row), row.bytes, 2)) return false;
    this.#count(row, 1, row.bytes);
    return true;
  }

  #fits(key: string, added: number, share: number): boolean {
    const { requests, bytes } = this.#sizes.get(key) ?? { requests: 0, bytes: 0 };
    return requests < MAX_REFUSED_LEADS / share && bytes + added <= MAX_REFUSED_BYTES / share;
  }

  #count(sender: SenderKey, requests: number, bytes: number): void {
    for (const key of [companyKey(sender), senderKey(sender)]) {
      const size = this.#sizes.get(key) ?? { requests: 0, bytes: 0 };
      this.#sizes.set(key, { requests: size.requests + requests, bytes: size.bytes + bytes });
    }
  }
}

/** Bookkeeping gives up soon, and is tried again. */
const SHORT: TaskOptions = { timeout: 'short' };

const senderKey = ({ companyId, userId, tokenId }: SenderKey): string =>
  JSON.stringify([companyId, userId, tokenId]);
const companyKey = ({ companyId }: Pick<SenderKey, 'companyId'>): string => JSON.stringify([companyId]);
const userKey = ({ companyId, userId }: Pick<SenderKey, 'companyId' | 'userId'>): string =>
  JSON.stringify([companyId, userId]);

export function createRefusedLeadStore({ dialect, read, write }: SqlDatabase): RefusedLeadStore {
  const sql = prepareSql(dialect);
  const recordSenders = prepareRecordSenders(dialect);

  /** Without a lock: instances that write at the same time may exceed a bound by a batch. */
  function* record(refused: readonly RefusedLeadWithBody[]): SqlTask<ReadonlySet<string>> {
    const userIds = [...new Set(refused.map(({ userId }) => userId))];
    const users = new Set(
      (yield* query<Pick<SenderKey, 'companyId' | 'userId'>>(sql.findUsers, [userIds])).map(userKey),
    );
    const rows = refused.filter((one) => users.has(userKey(one))).map(toRow);
    const keys = rows.map(({ body: _, errors: __, ...key }) => key);
    const known = yield* query<{ id: string }>(sql.findKnown, [JSON.stringify(keys)]);
    const ids = new Set(known.map(({ id }) => id));
    const room = new Room();
    for (const companyId of new Set(rows.map((row) => row.companyId)))
      room.add(companyId, yield* query<Size>(SIZES, [companyId]));
    const held = rows.filter((row) => ids.has(row.id) || room.take(row));
    // In one order, so that two instances cause no deadlock.
    held.sort((a, b) => (a.bodyHash < b.bodyHash ? -1 : 1));
    if (held.length > 0) yield* query(sql.put, [JSON.stringify(held)]);
    return new Set(held.map(({ id }) => id));
  }

  function* prune(now: number): SqlTask<number> {
    const removed = yield* query(PRUNE_REMOVED);
    const old = yield* query<DeletedRow>(PRUNE_OLD, [now - HELD_MS]);
    yield* countLost(old, now);
    return removed.length + old.length;
  }

  /** In the same transaction, so that none is forgotten. */
  function* countLost(deleted: readonly DeletedRow[], now: number): SqlTask<void> {
    if (deleted.length === 0) return;
    yield* recordSenders(
      deleted.map(({ userId, tokenId, source, lastAt, times }) => ({
        ...{ userId, tokenId, source, tokenExpiresAt: undefined },
        ...{ lastRequestAt: lastAt, lastAcceptedAt: null, lastRefusal: null, lastUnkeptAt: now },
        ...{ writtenAt: now, days: [toDay(dayOf(now), 0, 0, times)] },
      })),
    );
  }

  function* summarizeCompany(companyId: string): SqlTask<RefusedSummary[]> {
    const rows = yield* query<SummaryRow>(SUMMARIZE, [companyId]);
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
        held: of.reduce((sum, { held }) => sum + held, 0),
        requests: of.reduce((sum, { requests }) => sum + requests, 0),
        firstAt: Math.min(...of.map(({ firstAt }) => firstAt)),
        lastAt: Math.max(...of.map(({ lastAt }) => lastAt)),
        fields: [...new Set(names)].slice(0, MAX_FIELDS),
      };
    });
  }

  return {
    record: (refused) => write(() => record(refused)),

    async removeAccepted(accepted) {
      const requests = JSON.stringify(accepted);
      for (let removed = 0; ; ) {
        const { length } = await write(() => query(sql.removeAccepted, [requests]), SHORT);
        if (length === 0) return removed;
        removed += length;
        // Polls are answered between two parts.
        await takeTurn();
      }
    },

    prune: (now) => write(() => prune(now), SHORT),

    async list({ companyId, after = '', limit }) {
      if (![companyId ?? '', after].every(isStorable)) return [];
      const rows = await read(() =>
        query<ListedRow & { sender: string | null }>(LIST, [companyId ?? null, after, limit]),
      );
      return rows.map(fromRow);
    },

    async find(id) {
      if (!isStorable(id)) return undefined;
      const [row] = await read(() => query<FoundRow>(FIND, [id]));
      return row && { ...fromRow(row), body: Buffer.from(row.body, 'base64') };
    },

    async remove(ids) {
      return (await write(() => query(sql.remove, [ids.filter(isStorable)]))).length;
    },

    async summarize(companyId) {
      if (!isStorable(companyId ?? '')) return [];
      if (companyId !== undefined) return read(() => summarizeCompany(companyId));
      const summaries: RefusedSummary[] = [];
      for (let last = ''; ; ) {
        const next = await read(() => query<{ companyId: string | null }>(NEXT_COMPANY, [last]));
        const of = next[0]?.companyId ?? null;
        if (of === null) return summaries;
        summaries.push(...(await read(() => summarizeCompany(of))));
        last = of;
        // SQLite reads synchronously. Polls are answered between two companies.
        await takeTurn();
      }
    },
  };
}
