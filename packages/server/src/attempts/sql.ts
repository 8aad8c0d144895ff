/** The log in a database. */
import {
  AFTER_ALL_MS,
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
import { mergeEqual, NO_FACTS } from './merge-attempts.ts';
import {
  type Attempt,
  type AttemptStore,
  MAX_ATTEMPTS,
  MAX_ATTEMPTS_OF_COMPANY,
  type SubjectAttempts,
} from './store.ts';

interface StoredAttempt {
  readonly subject: string;
  readonly at: number;
  readonly companyId: string;
  readonly kind: Attempt['kind'];
  readonly reason: string | null;
  /** JSON of the rest, without what is null. */
  readonly details: string;
}

export const ATTEMPTS: Table<StoredAttempt> = {
  name: 'attempts',
  key: ['subject', 'at'],
  types: { subject: 'text', at: 'time', companyId: 'text', kind: 'text', reason: 'text', details: 'text' },
};

type NewRow = Omit<StoredAttempt, 'companyId'> & Owner;

/** Without a company: that of the user. */
interface Owner {
  readonly userId: string;
  readonly companyId: string | null;
}

const NEW_ROW: Table<NewRow>['types'] = {
  ...{ subject: 'text', at: 'time', userId: 'text', companyId: 'text' },
  ...{ kind: 'text', reason: 'text', details: 'text' },
};
const SUBJECT = { subject: 'text' } as const;
const SUBJECT_OF_OWNER = { subject: 'text', userId: 'text', companyId: 'text' } as const;
const COMPANY = { companyId: 'text' } as const;
const ROW_KEY = { subject: 'text', at: 'time' } as const;

const SELECTED = selectFields(ATTEMPTS.types, 'a');
const ofSubject = (condition: string): string => `
  SELECT ${SELECTED} FROM leadtap.attempts AS a
   WHERE a.subject = $1 AND a.company_id = $2 AND a.at ${condition}`;
const LIST = ofSubject('< leadtap.from_ms($3) ORDER BY a.at DESC LIMIT $4');
const LIST_NEWER = ofSubject('>= leadtap.from_ms($3) ORDER BY a.at LIMIT 1');

const COMPANIES = 'SELECT id AS "companyId" FROM leadtap.companies WHERE id > $1 ORDER BY id LIMIT $2';
const DELETE_OLD = 'DELETE FROM leadtap.attempts WHERE company_id = $1 AND at < leadtap.from_ms($2)';

const timeOf = (which: string, limit: string): string => `
  SELECT b.at AS value FROM leadtap.attempts AS b WHERE ${which} ORDER BY b.at DESC LIMIT 1 OFFSET ${limit}`;

export const prepareAttempts = (dialect: Dialect) => ({
  /** Not of another company, of which the user was before. */
  newest: {
    sql: `
      SELECT ${SELECTED} FROM ${dialect.eachRow(SUBJECT_OF_OWNER)} AS k
        ${dialect.joinValues(timeOf('b.subject = k.subject', '0'), 'n')}
        JOIN leadtap.attempts AS a ON a.subject = k.subject AND a.at = n.value
        LEFT JOIN leadtap.users AS u ON u.id = k."userId"
       WHERE a.company_id = coalesce(k."companyId", u.company_id)`,
    fields: Object.keys(SUBJECT_OF_OWNER),
  },
  lastErasedAt: `
    SELECT u.id AS "userId", leadtap.to_ms(max(e.erased_at)) AS "erasedAt"
      FROM leadtap.users AS u JOIN leadtap.erased_leads AS e ON e.company_id = u.company_id
     WHERE ${dialect.isIn('u.id', '$1')} GROUP BY u.id`,
  remove: {
    sql: `
      DELETE FROM leadtap.attempts
       WHERE (subject, at) IN (SELECT k.subject, k.at FROM ${dialect.eachRow(ROW_KEY)} AS k)`,
    fields: Object.keys(ROW_KEY),
  },
  insert: {
    sql: `
      INSERT INTO leadtap.attempts (subject, at, company_id, kind, reason, details)
      SELECT r.subject, r.at, coalesce(r."companyId", u.company_id), r.kind, r.reason, r.details
        FROM ${dialect.eachRow(NEW_ROW)} AS r LEFT JOIN leadtap.users AS u ON u.id = r."userId"
       WHERE coalesce(r."companyId", u.company_id) IS NOT NULL
          ON CONFLICT (subject, at) DO NOTHING`,
    fields: Object.keys(NEW_ROW),
  },
  trim: {
    sql: `
      DELETE FROM leadtap.attempts WHERE (subject, at) IN (
        SELECT a.subject, a.at FROM ${dialect.eachRow(SUBJECT)} AS k
          ${dialect.joinValues(timeOf('b.subject = k.subject', String(MAX_ATTEMPTS)), 'n')}
          JOIN leadtap.attempts AS a ON a.subject = k.subject AND a.at <= n.value)`,
    fields: Object.keys(SUBJECT),
  },
  trimCompany: {
    sql: `
      DELETE FROM leadtap.attempts WHERE (subject, at) IN (
        SELECT a.subject, a.at FROM ${dialect.eachRow(COMPANY)} AS k
          ${dialect.joinValues(timeOf('b.company_id = k."companyId"', String(MAX_ATTEMPTS_OF_COMPANY)), 'n')}
          JOIN leadtap.attempts AS a ON a.company_id = k."companyId" AND a.at <= n.value)`,
    fields: Object.keys(COMPANY),
  },
  removeSubjects: `DELETE FROM leadtap.attempts WHERE ${dialect.isIn('subject', '$1')}`,
});

export type AttemptStatements = ReturnType<typeof prepareAttempts>;

/** "LTAA". Instances write one after the other. Taken after the locks of consumers. */
const RECORD_LOCK = 0x4c544141;

/** In the transaction of a batch. */
export function* recordAttempts(sql: AttemptStatements, all: readonly SubjectAttempts[]): SqlTask<void> {
  const bySubject = new Map<string, SubjectAttempts>();
  for (const one of all) {
    const known = bySubject.get(one.subject);
    const attempts = known ? [...known.attempts, ...one.attempts] : one.attempts;
    if (attempts.length > 0) bySubject.set(one.subject, { ...one, attempts });
  }
  if (bySubject.size === 0) return;
  yield* lock('SELECT pg_advisory_xact_lock($1)', [RECORD_LOCK]);
  const keys = [...bySubject.values()].map((one) => ({ subject: one.subject, ...ownerOf(one) }));
  const newest = new Map<string, Attempt>();
  for (const row of yield* queryInChunks<StoredAttempt>(sql.newest, keys))
    newest.set(row.subject, toAttempt(row));
  const removed: { readonly subject: string; readonly at: number }[] = [];
  const added: NewRow[] = [];
  for (const one of bySubject.values()) {
    const { subject, attempts } = one;
    const stored = newest.get(subject);
    const rows = mergeIntoNewest(stored, attempts);
    if (stored && rows[0] !== stored) removed.push({ subject, at: stored.at });
    for (const row of rows) if (row !== stored) added.push(toRow(one, row));
  }
  yield* queryInChunks(sql.remove, removed);
  yield* queryInChunks(sql.insert, yield* withoutErased(sql, added));
  yield* queryInChunks(sql.trim, keys);
}

/** `leads erase` does not know what is in memory, or what a receiver answers just after it. */
const ERASED_MS = 60_000;

function* withoutErased(sql: AttemptStatements, rows: readonly NewRow[]): SqlTask<readonly NewRow[]> {
  const userIds = new Set(rows.filter(({ reason }) => reason !== null).map(({ userId }) => userId));
  if (userIds.size === 0) return rows;
  const erased = yield* query<{ userId: string; erasedAt: number }>(sql.lastErasedAt, [[...userIds]]);
  const times = new Map(erased.map(({ userId, erasedAt }) => [userId, erasedAt]));
  return rows.map((row) =>
    row.at < (times.get(row.userId) ?? Number.NEGATIVE_INFINITY) + ERASED_MS ? { ...row, reason: null } : row,
  );
}

/** The newest row, if there is one, then what follows it. */
function mergeIntoNewest(stored: Attempt | undefined, attempts: readonly Attempt[]): readonly Attempt[] {
  const rows = stored ? [stored] : [];
  for (const next of attempts) {
    const last = rows.at(-1);
    const merged = last && mergeEqual(last, next);
    if (merged) rows[rows.length - 1] = merged;
    // Two rows of a subject have two times.
    else rows.push(last?.at === next.at ? { ...next, at: next.at + 1 } : next);
  }
  return rows;
}

/** In the transaction that deletes what was observed of them. */
export function* removeSubjects(sql: AttemptStatements, subjects: readonly string[]): SqlTask<void> {
  if (subjects.length > 0) yield* query(sql.removeSubjects, [subjects]);
}

const NO_DETAILS: Readonly<Record<string, unknown>> = { ...NO_FACTS, times: 1 };

const ownerOf = ({ userId, companyId }: SubjectAttempts): Owner => ({
  userId,
  companyId: companyId ?? null,
});

function toRow(of: SubjectAttempts, { at, kind, reason, ...rest }: Attempt): NewRow {
  const details = Object.entries(rest).filter(
    ([name, value]) => value !== NO_DETAILS[name] && !(Array.isArray(value) && value.length === 0),
  );
  const text = reason !== null && isStorable(reason) ? reason : null;
  const facts = { at, kind, reason: text, details: JSON.stringify(Object.fromEntries(details)) };
  return { subject: of.subject, ...ownerOf(of), ...facts };
}

const toAttempt = ({ at, kind, reason, details }: StoredAttempt): Attempt => ({
  ...{ ...NO_FACTS, firstAt: at, times: 1 },
  ...JSON.parse(details),
  ...{ at, kind, reason },
});

/** Receivers of webhooks may have repeated a lead in what they answered. */
export function* forgetReasons(
  { isIn }: Dialect,
  companyIds: readonly string[],
  before = AFTER_ALL_MS,
): SqlTask<void> {
  const condition = `${isIn('company_id', '$1')} AND at < leadtap.from_ms($2) AND reason IS NOT NULL`;
  yield* query(`UPDATE leadtap.attempts SET reason = NULL WHERE ${condition}`, [companyIds, before]);
  yield* query(
    `UPDATE leadtap.activity SET reason = NULL WHERE first_at < leadtap.from_ms($2) AND reason IS NOT NULL AND connection IN (
       SELECT c.id FROM leadtap.connections AS c WHERE ${isIn('c.company_id', '$1')})`,
    [companyIds, before],
  );
}

const SHORT: TaskOptions = { timeout: 'short' };
const COMPANIES_PER_STEP = 20;

export function createAttemptStore({ dialect, read, write }: SqlDatabase): AttemptStore {
  const sql = prepareAttempts(dialect);
  return {
    record: (attempts) => write(() => recordAttempts(sql, attempts), SHORT),

    async list({ subject, companyId, before, limit }) {
      if (![subject, companyId].every(isStorable)) return { attempts: [], newer: undefined };
      return read(function* () {
        const at = before ?? AFTER_ALL_MS;
        const rows = yield* query<StoredAttempt>(LIST, [subject, companyId, at, limit]);
        const [newer] =
          before === undefined ? [] : yield* query<StoredAttempt>(LIST_NEWER, [subject, companyId, before]);
        return { attempts: rows.map(toAttempt), newer: newer && toAttempt(newer) };
      }, SHORT);
    },

    /** Some companies in each transaction: SQLite answers no poll meanwhile. */
    async prune(before) {
      let after = '';
      for (;;) {
        const start = after;
        const companies = await write(function* () {
          const page = yield* query<{ companyId: string }>(COMPANIES, [start, COMPANIES_PER_STEP]);
          for (const { companyId } of page) yield* query(DELETE_OLD, [companyId, before]);
          yield* queryInChunks(sql.trimCompany, page);
          return page;
        }, SHORT);
        after = companies.at(-1)?.companyId ?? '';
        if (companies.length < COMPANIES_PER_STEP) return;
      }
    },
  };
}
