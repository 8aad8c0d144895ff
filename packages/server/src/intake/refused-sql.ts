/** Refused requests in a database. */
import type { LeadError } from '@leadtap/contract';
import { KEY_OF_HELD } from '../connections/list-sql.ts';
import { prepareRecord, resolveKeys } from '../connections/record-sql.ts';
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
import {
  type AcceptedRequest,
  MAX_REFUSED_BYTES,
  MAX_REFUSED_LEADS,
  REFUSED_DAYS,
  type RefusedLeadStore,
  type RefusedLeadWithBody,
  type StoredRefusedLead,
} from './store.ts';

interface ListedRow extends Omit<StoredRefusedLead, 'connection' | 'connectionId' | 'answerMap' | 'errors'> {
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
  client: 'text',
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

type OfConnection = Pick<StoredRefusedLead, 'connection' | 'connectionId'>;

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

const TOKEN = 'LEFT JOIN leadtap.issued_tokens AS t ON t.user_id = r.user_id AND t.id = r.token_id';
const IS_SENT_BY = `c.user_id = r.user_id AND c.kind = 'send' AND c.company_id = r.company_id AND c.key = ${KEY_OF_HELD}`;
const WITH_CONNECTION = `coalesce(c.name, t.name) AS connection, c.id AS "connectionId"
  FROM leadtap.refused_leads AS r ${TOKEN} LEFT JOIN leadtap.connections AS c ON ${IS_SENT_BY}`;
const IS_OF_COMPANY = '(CAST($1 AS text) IS NULL OR r.company_id = $1)';
/** The values: company, id of the last one before, limit. */
const LIST = `
  SELECT ${selectFields(LISTED, 'r')}, ${WITH_CONNECTION} WHERE ${IS_OF_COMPANY} AND r.id > $2 ORDER BY r.id LIMIT $3`;
const FIND = `SELECT ${selectFields(WITH_BODY, 'r')}, ${WITH_CONNECTION} WHERE r.id = $1`;
const HAS_NO_USER = `
  NOT EXISTS (SELECT 1 FROM leadtap.users AS u WHERE u.id = r.user_id AND u.company_id = r.company_id)`;
const PRUNE_REMOVED = `DELETE FROM leadtap.refused_leads AS r WHERE ${HAS_NO_USER} RETURNING 1`;
const PRUNE_OLD = `
  DELETE FROM leadtap.refused_leads WHERE last_at < leadtap.from_ms($1)
RETURNING 1`;
/** Before they are deleted, in the same transaction. */
const COUNT_LOST = `
  INSERT INTO leadtap.lost_requests AS o (connection, why, requests, first_at, last_at)
    SELECT c.id, 'held-too-long', sum(r.times), min(r.received_at), max(r.last_at)
      FROM leadtap.refused_leads AS r ${TOKEN}
      JOIN leadtap.connections AS c ON ${IS_SENT_BY}
     WHERE r.last_at < leadtap.from_ms($1) GROUP BY c.id
  ON CONFLICT (connection, why) DO UPDATE SET requests = o.requests + excluded.requests, last_at = excluded.last_at`;

const SIZES = `
  SELECT r.user_id AS "userId", ${KEY_OF_HELD} AS key, count(*) AS requests, sum(r.bytes) AS bytes
    FROM leadtap.refused_leads AS r ${TOKEN} WHERE r.company_id = $1 GROUP BY 1, 2`;

/** SQLite answers no poll while it overwrites what it deletes: some milliseconds. */
const MAX_BYTES_PER_REMOVAL = 512 * 1024;
/** What a row takes besides its body. */
const ROW_BYTES = 4096;

const HELD_MS = REFUSED_DAYS * 86_400_000;

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
  };
};

/** Of a connection. */
interface Size {
  readonly userId: string;
  readonly key: string;
  readonly requests: number;
  readonly bytes: number;
}

/** What may still be held for a company. */
class Room {
  readonly #all = { requests: 0, bytes: 0 };
  readonly #ofConnections = new Map<string, Pick<Size, 'requests' | 'bytes'>>();

  add({ userId, key, requests, bytes }: Size): void {
    const id = `${userId}\0${key}`;
    const { requests: before, bytes: bytesBefore } = this.#ofConnections.get(id) ?? NOTHING;
    this.#ofConnections.set(id, {
      requests: before + Number(requests),
      bytes: bytesBefore + Number(bytes),
    });
    this.#all.requests += Number(requests);
    this.#all.bytes += Number(bytes);
  }

  /** False if there is no room for it. */
  take(row: Size): boolean {
    const ofConnection = this.#ofConnections.get(`${row.userId}\0${row.key}`) ?? NOTHING;
    if (!fits(this.#all, row.bytes, 1) || !fits(ofConnection, row.bytes, 2)) return false;
    this.add(row);
    return true;
  }
}

const NOTHING = { requests: 0, bytes: 0 };

const fits = ({ requests, bytes }: Pick<Size, 'requests' | 'bytes'>, added: number, share: number): boolean =>
  requests < MAX_REFUSED_LEADS / share && bytes + added <= MAX_REFUSED_BYTES / share;

/** Bookkeeping gives up soon, and is tried again. */
const SHORT: TaskOptions = { timeout: 'short' };

export function createRefusedLeadStore({ dialect, read, write }: SqlDatabase): RefusedLeadStore {
  const sql = prepareSql(dialect);
  const keys = prepareRecord(dialect);

  /** Without a lock: instances that write at the same time may exceed a bound by a batch. */
  function* record(refused: readonly RefusedLeadWithBody[]): SqlTask<ReadonlySet<string>> {
    const resolved = yield* resolveKeys(
      keys,
      refused.map(({ userId, tokenId: keyId, client }) => ({
        userId,
        kind: 'send',
        keyId,
        ...(client !== null && { client }),
      })),
    );
    const keyOf = new Map(refused.map(({ id }, index) => [id, resolved[index]?.key ?? '']));
    const rows = refused.filter((one, index) => resolved[index]?.companyId === one.companyId).map(toRow);
    const known = yield* query<{ id: string }>(sql.findKnown, [
      JSON.stringify(rows.map(({ body: _, errors: __, ...row }) => row)),
    ]);
    const ids = new Set(known.map(({ id }) => id));
    const rooms = new Map<string, Room>();
    for (const companyId of new Set(rows.map((row) => row.companyId))) {
      const room = new Room();
      for (const size of yield* query<Size>(SIZES, [companyId])) room.add(size);
      rooms.set(companyId, room);
    }
    const held = rows.filter(({ id, companyId, userId, bytes }) => {
      const size = { userId, key: keyOf.get(id) ?? '', requests: 1, bytes };
      return ids.has(id) || rooms.get(companyId)?.take(size);
    });
    // In one order, so that two instances cause no deadlock.
    held.sort((a, b) => (a.bodyHash < b.bodyHash ? -1 : 1));
    if (held.length > 0) yield* query(sql.put, [JSON.stringify(held)]);
    return new Set(held.map(({ id }) => id));
  }

  function* prune(now: number): SqlTask<number> {
    const removed = yield* query(PRUNE_REMOVED);
    yield* query(COUNT_LOST, [now - HELD_MS]);
    const old = yield* query(PRUNE_OLD, [now - HELD_MS]);
    return removed.length + old.length;
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
      const rows = await read(() => query<ListedRow & OfConnection>(LIST, [companyId ?? null, after, limit]));
      return rows.map(fromRow);
    },

    async find(id) {
      if (!isStorable(id)) return undefined;
      const [row] = await read(() => query<StoredRow & OfConnection>(FIND, [id]));
      return row && { ...fromRow(row), body: Buffer.from(row.body, 'base64') };
    },

    async remove(ids) {
      return (await write(() => query(sql.remove, [ids.filter(isStorable)]))).length;
    },
  };
}
