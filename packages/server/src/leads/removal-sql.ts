/** Deletes leads of a database: erased persons and pruned leads. */

import { idInCompany } from '../accounts/records.ts';
import {
  BEFORE_ALL_MS,
  type Dialect,
  isStorable,
  lock,
  putSql,
  query,
  readNow,
  type SqlDatabase,
  type SqlTask,
  type Table,
  type TaskOptions,
} from '../sql/sql.ts';
import {
  type Contact,
  hashErasedId,
  type LeadRemoval,
  normalizeEmail,
  normalizePhone,
  type RemovableLead,
} from './removal.ts';

/** Some megabytes, read in some milliseconds. */
const LEADS_PER_SCAN = 5000;

const COLUMNS = `l.company_id AS "companyId", leadtap.to_ms(l.created_at) AS "createdAt", l.id,
  coalesce(l.full_name, nullif(trim(coalesce(l.first_name, '') || ' ' || coalesce(l.last_name, '')), '')) AS name,
  l.email, l.phone1, l.phone2`;

const scanSql = (condition: string): string => `
  SELECT ${COLUMNS} FROM leadtap.leads AS l WHERE ${condition}
   ORDER BY l.company_id, l.created_at LIMIT ${LEADS_PER_SCAN}`;
/** The values: company, time of the last lead before. */
const SCAN_ALL = scanSql('(l.company_id, l.created_at) > ($1, leadtap.from_ms($2))');
const SCAN_COMPANY = scanSql('l.company_id = $1 AND l.created_at > leadtap.from_ms($2)');

const COUNT_OLDER = `
  SELECT count(*) AS count FROM leadtap.leads WHERE company_id = $1 AND created_at < leadtap.from_ms($2)`;

/** Skips rows that a writer has locked, so that the two never wait for each other; the next run deletes them. */
const FIND_OLDEST = `
  SELECT leadtap.to_ms(o.created_at) AS "createdAt" FROM leadtap.leads AS o
   WHERE o.company_id = $1 AND o.created_at < leadtap.from_ms($2)
   ORDER BY o.created_at LIMIT $3 FOR UPDATE SKIP LOCKED`;

interface ErasedLead {
  readonly companyId: string;
  readonly idHash: string;
  readonly erasedAt: number;
}

const ERASED_LEADS: Table<ErasedLead> = {
  name: 'erased_leads',
  key: ['company_id', 'id_hash'],
  types: { companyId: 'text', idHash: 'text', erasedAt: 'time' },
};

const prepareSql = (dialect: Dialect) => ({
  /** Each company is searched by its index of ids, because there is no index of ids over all companies. */
  findByIds: `
    SELECT ${COLUMNS} FROM leadtap.companies AS c
      ${dialect.joinEach('leads', 'l', `l.company_id = c.id AND ${dialect.isIn('l.id', '$1')}`, 'leads_by_id')}
     WHERE CAST($2 AS text) IS NULL OR c.id = $2
     ORDER BY l.company_id, l.created_at`,
  remove: `
    DELETE FROM leadtap.leads WHERE (company_id, created_at, id) IN (
      SELECT k."companyId", k."createdAt", k.id
        FROM ${dialect.rows('$1', { companyId: 'text', createdAt: 'time', id: 'text' })} AS k) RETURNING 1`,
  prune: `
    DELETE FROM leadtap.leads WHERE company_id = $2 AND created_at IN (
      SELECT k."createdAt" FROM ${dialect.rows('$1', { createdAt: 'time' })} AS k) RETURNING 1`,
  putErased: putSql(dialect, ERASED_LEADS),
});

/** In JavaScript, because `lower` of SQLite knows ASCII only, and that of PostgreSQL follows the language of the database. */
function createMatcher(contact: Contact): (lead: RemovableLead) => boolean {
  const emails = new Set(contact.emails.map(normalizeEmail));
  const phones = new Set(contact.phones.map(normalizePhone));
  return ({ email, phone1, phone2 }) =>
    (email !== null && emails.has(normalizeEmail(email))) ||
    [phone1, phone2].some((phone) => phone !== null && phones.has(normalizePhone(phone)));
}

/** Its duration depends on the number of leads. */
const NO_TIMEOUT: TaskOptions = { timeout: 'none' };

/** What connections record of deleted leads, in the transaction that deletes them. */
interface RemovalRecords {
  /** Counts those that wait for a connection. */
  countPruned(companyId: string, leads: readonly { readonly createdAt: number }[]): SqlTask<void>;
  /** Receivers of webhooks may have repeated a lead in what they answered. */
  forgetReasons(companyIds: readonly string[], before?: number): SqlTask<void>;
}

export function createRemoval(
  { dialect, read, write }: SqlDatabase,
  vacuum: LeadRemoval['vacuum'],
  { countPruned, forgetReasons }: RemovalRecords,
): LeadRemoval {
  const sql = prepareSql(dialect);
  return {
    vacuum,

    async findByIds(ids, companyId) {
      if (!isStorable(companyId ?? '')) return [];
      const values = [ids.filter(isStorable), companyId ?? null];
      return read(() => query<RemovableLead>(sql.findByIds, values), NO_TIMEOUT);
    },

    async scan(contact, after, companyId) {
      const values = [companyId ?? after?.companyId ?? '', after?.createdAt ?? BEFORE_ALL_MS];
      const statement = companyId === undefined ? SCAN_ALL : SCAN_COMPANY;
      const rows = await read(() => query<RemovableLead>(statement, values), NO_TIMEOUT);
      const last = rows.length === LEADS_PER_SCAN ? rows.at(-1) : undefined;
      return { leads: rows.filter(createMatcher(contact)), last };
    },

    /** Under the locks of the companies: no writer can add one of the ids between the two statements. */
    erase: (leads) =>
      write(function* () {
        const companyIds = new Set(leads.map(({ companyId }) => companyId));
        yield* lock('SELECT leadtap.lock_companies($1)', [[...companyIds]]);
        const keys = leads.map(({ companyId, createdAt, id }) => ({ companyId, createdAt, id }));
        const removed = yield* query(sql.remove, [JSON.stringify(keys)]);
        const erasedAt = yield* readNow();
        const erased = leads.map(({ companyId, id }): [string, ErasedLead] => [
          idInCompany(companyId, id),
          { companyId, idHash: hashErasedId(id), erasedAt },
        ]);
        yield* query(sql.putErased, [JSON.stringify([...new Map(erased).values()])]);
        yield* forgetReasons([...companyIds]);
        return removed.length;
      }),

    async countOlder(companyId, before) {
      const [row] = await read(() => query<{ count: number }>(COUNT_OLDER, [companyId, before]), NO_TIMEOUT);
      return row?.count ?? 0;
    },

    async prune(companyId, before, limit) {
      const removed = await write(function* () {
        yield* forgetReasons([companyId], before);
        const oldest = yield* query<{ createdAt: number }>(FIND_OLDEST, [companyId, before, limit]);
        if (oldest.length === 0) return [];
        yield* countPruned(companyId, oldest);
        return yield* query(sql.prune, [JSON.stringify(oldest), companyId]);
      });
      return removed.length;
    },
  };
}
