/** The senders in a database. */
import type { TokenKey } from '../accounts/token-key.ts';
import { isRevoked, mergeTokenRows, prepareTokenRows } from '../accounts/token-rows.ts';
import { prepareAttempts, recordAttempts, removeSubjects } from '../attempts/sql.ts';
import { type SubjectAttempts, senderIdOf } from '../attempts/store.ts';
import {
  type Dialect,
  isStorable,
  lock,
  query,
  queryInChunks,
  type SqlDatabase,
  type SqlTask,
  selectFields,
  type Table,
  type TaskOptions,
} from '../sql/sql.ts';
import { mergeSender, toDay } from './merge-senders.ts';
import {
  type ListedSender,
  SENDER_DAYS,
  type Sender,
  type SenderRefusal,
  type SenderStore,
  type SenderSummary,
  UNKEPT_MS,
  UNKNOWN_COMPANY,
} from './sender-store.ts';

interface StoredSender extends Omit<Sender, 'lastRefusal' | 'days'> {
  readonly lastRefusedAt: number | null;
  readonly lastRefusedStatus: number | null;
  readonly lastRefusedCode: SenderRefusal['code'] | null;
  /** JSON. */
  readonly lastRefusedFields: string | null;
  /** JSON. */
  readonly days: string;
}

export const SENDERS: Table<StoredSender> = {
  name: 'senders',
  key: ['user_id', 'token_id'],
  types: {
    userId: 'text',
    tokenId: 'nullAsEmpty',
    companyId: 'text',
    source: 'text',
    tokenExpiresAt: 'time',
    firstRequestAt: 'time',
    lastRequestAt: 'time',
    lastAcceptedAt: 'time',
    lastRefusedAt: 'time',
    lastRefusedStatus: 'integer',
    lastRefusedCode: 'text',
    lastRefusedFields: 'text',
    lastUnkeptAt: 'time',
    days: 'text',
    hours: 'text',
  },
};

const toStored = ({ lastRefusal, days, ...sender }: Sender): StoredSender => ({
  ...sender,
  lastRefusedAt: lastRefusal?.at ?? null,
  lastRefusedStatus: lastRefusal?.status ?? null,
  lastRefusedCode: lastRefusal?.code ?? null,
  lastRefusedFields: lastRefusal && JSON.stringify(lastRefusal.fields),
  days: JSON.stringify(days),
});

function toSender<Row extends StoredSender>(row: Row) {
  const { lastRefusedAt, lastRefusedStatus, lastRefusedCode, lastRefusedFields, days, ...sender } = row;
  const lastRefusal: SenderRefusal | null =
    lastRefusedAt === null || lastRefusedStatus === null || lastRefusedCode === null
      ? null
      : {
          ...{ at: lastRefusedAt, status: lastRefusedStatus, code: lastRefusedCode },
          fields: JSON.parse(lastRefusedFields ?? '[]'),
        };
  return { ...sender, lastRefusal, days: JSON.parse(days) as Sender['days'] };
}

const DAY_MS = 24 * 3_600_000;
const DAYS_MS = SENDER_DAYS * DAY_MS;
/** Not EXISTS, for which PostgreSQL would read all users for a page. */
const ofUser = (selected: string): string =>
  `(SELECT ${selected} FROM leadtap.users AS u WHERE u.id = s.user_id)`;
/** What was not kept, or not any more, may be later than the last request. */
const IS_OVER = `((${isRevoked('s')} OR ${ofUser('1')} IS NULL) AND s.last_request_at <= leadtap.from_ms(CAST($1 AS bigint) - ${DAYS_MS})
  AND coalesce(s.last_unkept_at, s.last_request_at) <= leadtap.from_ms(CAST($1 AS bigint) - ${DAYS_MS}))`;
/** A user that was removed and added again may be of another company: its senders are not. */
const IS_OF_COMPANY = ofUser('u.company_id = s.company_id');
const HAS_COMPANY = `(s.company_id = '${UNKNOWN_COMPANY}'
  OR (SELECT 1 FROM leadtap.companies AS c WHERE c.id = s.company_id) = 1)`;
/** Of a user who was removed: while what it sends is refused. */
const IS_LISTED = `coalesce(${IS_OF_COMPANY}, ${HAS_COMPANY}
  AND s.last_unkept_at >= leadtap.from_ms(CAST($1 AS bigint) - ${UNKEPT_MS}))`;
/** A new token of a sender has the name of the old one. Two forms of a user have two names, or none. */
const IS_REPLACED = `EXISTS (
  SELECT 1 FROM leadtap.senders AS o LEFT JOIN leadtap.issued_tokens AS n ON n.id = o.token_id AND n.user_id = o.user_id
   WHERE o.user_id = s.user_id AND o.token_id <> s.token_id AND coalesce(o.source, '') = coalesce(s.source, '')
     AND n.name = t.name AND o.last_accepted_at > s.last_request_at)`;

const SELECTIONS = {
  all: IS_LISTED,
  user: `s.user_id = $5 AND ${IS_LISTED}`,
  company: `s.user_id IN (
      SELECT u.id FROM leadtap.users AS u WHERE u.company_id = $5
       UNION ALL
      SELECT r.user_id FROM leadtap.senders AS r WHERE r.company_id = $5 AND r.last_unkept_at IS NOT NULL)
    AND s.company_id = $5 AND ${IS_LISTED}`,
};

/** The values: now, limit, user and token of the last sender before, company or user. */
const listSql = (selection: string): string => `
  WITH page AS MATERIALIZED (
    SELECT s.* FROM leadtap.senders AS s
     WHERE ${selection} AND (s.user_id, s.token_id) > ($3, $4) AND ${IS_OVER} IS NOT TRUE
     ORDER BY s.user_id, s.token_id LIMIT $2)
  SELECT ${selectFields(SENDERS.types, 's')}, t.name, leadtap.to_ms(t.issued_at) AS "tokenIssuedAt",
         ${isRevoked('s')} AS "isRevoked", ${IS_REPLACED} AS "isReplaced"
    FROM page AS s LEFT JOIN leadtap.issued_tokens AS t ON t.id = s.token_id AND t.user_id = s.user_id
   ORDER BY s.user_id, s.token_id`;

const LIST = {
  all: listSql(SELECTIONS.all),
  user: listSql(SELECTIONS.user),
  company: listSql(SELECTIONS.company),
};

const PRUNE = `
  DELETE FROM leadtap.senders AS s
   WHERE s.last_request_at < leadtap.from_ms($2) OR NOT coalesce(${IS_OF_COMPANY}, ${HAS_COMPANY}) OR ${IS_OVER}
  RETURNING user_id AS "userId", nullif(token_id, '') AS "tokenId"`;

const prepareSql = (dialect: Dialect) => ({
  ...prepareTokenRows(dialect, SENDERS),
  attempts: prepareAttempts(dialect),
  companies: `
    SELECT u.id AS "userId", u.company_id AS "companyId" FROM leadtap.users AS u WHERE ${dialect.isIn('u.id', '$1')}`,
});

type ListedRow = StoredSender & {
  readonly name: string | null;
  readonly tokenIssuedAt: number | null;
  readonly isRevoked: boolean | number;
  readonly isReplaced: boolean | number;
};

const toListed = (row: ListedRow): ListedSender => ({
  ...toSender(row),
  isRevoked: Boolean(row.isRevoked),
  isReplaced: Boolean(row.isReplaced),
});

/** "LTAS". Instances write one after the other: it takes milliseconds, every few seconds. */
const RECORD_LOCK = 0x4c544153;
const lockSenders = (): SqlTask<void> => lock('SELECT pg_advisory_xact_lock($1)', [RECORD_LOCK]);

/** Bookkeeping gives up soon, and is tried again. */
const SHORT: TaskOptions = { timeout: 'short' };

/** Within a transaction of any store. */
export function prepareRecordSenders(
  dialect: Dialect,
): (summaries: readonly SenderSummary[]) => SqlTask<void> {
  const sql = prepareSql(dialect);

  return function* record(summaries) {
    yield* lockSenders();
    const userIds = [...new Set(summaries.map(({ userId }) => userId))];
    const users = yield* query<{ userId: string; companyId: string }>(sql.companies, [userIds]);
    const companies = new Map(users.map(({ userId, companyId }) => [userId, companyId]));
    const ofUsers = summaries.map((requests) => {
      const companyId = companies.get(requests.userId);
      return { ...requests, companyId, mustBeIssued: requests.mustBeIssued || companyId === undefined };
    });
    const logged: SubjectAttempts[] = [];
    const { changed } = yield* mergeTokenRows(
      sql,
      ofUsers,
      (stored: StoredSender) => toSender(stored),
      (row, { companyId: ofUser, ...requests }): Sender => {
        const { userId, attempts = [] } = requests;
        const companyId = ofUser ?? row?.companyId ?? UNKNOWN_COMPANY;
        if (attempts.length > 0 && companyId !== UNKNOWN_COMPANY)
          logged.push({ subject: senderIdOf(requests), userId, companyId, attempts });
        return mergeSender(row?.companyId === companyId ? row : undefined, requests, companyId);
      },
    );
    yield* queryInChunks(sql.put, [...changed.values()].map(toStored));
    yield* recordAttempts(sql.attempts, logged);
  };
}

export function createSenderStore({ dialect, read, write }: SqlDatabase): SenderStore {
  const sql = prepareSql(dialect);
  const record = prepareRecordSenders(dialect);

  function* clearUnkept(keys: readonly TokenKey[]): SqlTask<void> {
    yield* lockSenders();
    const rows = yield* queryInChunks<StoredSender>(sql.find, keys);
    const cleared = rows.map((row) => {
      const sender = toSender(row);
      const days = sender.days.map(([day, accepted, refused]) => toDay(day, accepted, refused, 0));
      return toStored({ ...sender, lastUnkeptAt: null, days });
    });
    yield* queryInChunks(sql.put, cleared);
  }

  return {
    record: (summaries) => write(() => record(summaries), SHORT),

    async list({ companyId, userId, after, limit, now }) {
      if (![companyId ?? '', userId ?? ''].every(isStorable)) return [];
      const selected = userId ?? companyId;
      const statement = userId !== undefined ? LIST.user : companyId !== undefined ? LIST.company : LIST.all;
      const start = [after?.userId ?? '', after?.tokenId ?? ''];
      const values = [now, limit, ...start, ...(selected === undefined ? [] : [selected])];
      const rows = await read(() => query<ListedRow>(statement, values));
      return rows.map(toListed).filter((sender) => companyId === undefined || sender.companyId === companyId);
    },

    clearUnkept: (senders) =>
      write(() => clearUnkept(senders.map(({ userId, tokenId }) => ({ userId, tokenId })))),

    async prune(now, before) {
      const pruned = await write(function* () {
        yield* lockSenders();
        const keys = yield* query<TokenKey>(PRUNE, [now, before]);
        yield* removeSubjects(sql.attempts, keys.map(senderIdOf));
        return keys;
      }, SHORT);
      return pruned.length;
    },
  };
}
