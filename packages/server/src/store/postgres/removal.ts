/** Deletes leads: erased persons and pruned leads. */
import {
  hashErasedId,
  type LeadKey,
  type LeadRemoval,
  normalizeEmail,
  normalizePhone,
  type RemovableLead,
  type VacuumReport,
} from '../../leads/removal.ts';
import { StoreUnavailableError } from '../errors.ts';
import { type Database, isStorable, lockCompanies, NO_TIMEOUT_MS } from './connection.ts';

/** Some megabytes; the server compares them in some hundred milliseconds. */
const LEADS_PER_SCAN = 20_000;

const NAME = `coalesce(l.full_name, nullif(concat_ws(' ', l.first_name, l.last_name), ''))`;

/** Each company is searched by its index of ids, because there is no index of ids over all companies. */
const FIND_BY_IDS = `
  SELECT l.company_id AS "companyId", leadtap.to_ms(l.created_at) AS "createdAt", l.id, ${NAME} AS name
    FROM leadtap.companies AS c
   CROSS JOIN LATERAL (SELECT o.* FROM leadtap.leads AS o WHERE o.company_id = c.id AND o.id = ANY ($1)) AS l
   WHERE $2::text IS NULL OR c.id = $2
   ORDER BY l.company_id, l.created_at`;

/** A number by its digits, as `normalizePhone` makes it. */
const digitsOf = (column: string): string => {
  const withoutTrunkPrefix = `regexp_replace(${column}, '([0-9][^0-9]*)[(] *0 *[)]', '\\1')`;
  return `regexp_replace(regexp_replace(${withoutTrunkPrefix}, '[^0-9]', '', 'g'), '^00', '')`;
};

/** What `String.prototype.trim` removes. `trim` of PostgreSQL removes spaces only, and its `\s` depends on the locale. */
const WHITE_SPACE =
  ' \t\n\v\f\r\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff';

/** Lower case in ASCII, and by the rules of the database's language for other letters. */
const scanSql = (isOfCompany: boolean): string => `
  WITH page AS MATERIALIZED (
    SELECT l.company_id, l.created_at, l.id, ${NAME} AS name, l.email, l.phone1, l.phone2 FROM leadtap.leads AS l
     WHERE ${
       isOfCompany
         ? 'l.company_id = $3 AND l.created_at > leadtap.from_ms($4)'
         : '(l.company_id, l.created_at) > ($3, leadtap.from_ms($4))'
     }
     ORDER BY l.company_id, l.created_at LIMIT ${LEADS_PER_SCAN})
  SELECT (SELECT count(*) FROM page)::integer AS scanned,
         (SELECT json_build_object('companyId', p.company_id, 'createdAt', leadtap.to_ms(p.created_at), 'id', p.id)
            FROM page AS p ORDER BY p.company_id DESC, p.created_at DESC LIMIT 1) AS last,
         (SELECT coalesce(json_agg(json_build_object('companyId', p.company_id, 'createdAt', leadtap.to_ms(p.created_at),
                   'id', p.id, 'name', p.name) ORDER BY p.company_id, p.created_at), '[]') FROM page AS p
           WHERE lower(btrim(p.email, $5) COLLATE "C") = ANY ($1)
              OR lower(btrim(p.email, $5)) IN (SELECT lower(e) FROM unnest($1::text[]) AS e)
              OR ${digitsOf('p.phone1')} = ANY ($2) OR ${digitsOf('p.phone2')} = ANY ($2)) AS leads`;

interface ScanRow {
  readonly scanned: number;
  readonly last: LeadKey | null;
  readonly leads: readonly RemovableLead[];
}

const KEYS = 'json_to_recordset($1) AS k ("companyId" text, "createdAt" bigint, id text, hash text)';
const DELETE_LEADS = `
  DELETE FROM leadtap.leads AS l USING ${KEYS}
   WHERE l.company_id = k."companyId" AND l.created_at = leadtap.from_ms(k."createdAt") AND l.id = k.id RETURNING 1`;
const REMEMBER_ERASED = `
  INSERT INTO leadtap.erased_leads (company_id, id_hash, erased_at)
  SELECT DISTINCT k."companyId", k.hash, leadtap.from_ms(leadtap.clock_ms()) FROM ${KEYS}
  ON CONFLICT (company_id, id_hash) DO UPDATE SET erased_at = excluded.erased_at`;

const COUNT_OLDER = `
  SELECT count(*) AS count FROM leadtap.leads WHERE company_id = $1 AND created_at < leadtap.from_ms($2)`;

/** Skips rows that a writer has locked, so that the two never wait for each other; the next run deletes them. */
const PRUNE = `
  DELETE FROM leadtap.leads AS l WHERE l.company_id = $1 AND l.created_at = ANY (ARRAY(
    SELECT o.created_at FROM leadtap.leads AS o WHERE o.company_id = $1 AND o.created_at < leadtap.from_ms($2)
     ORDER BY o.created_at LIMIT $3 FOR UPDATE SKIP LOCKED)) RETURNING 1`;

/** The years of `leadtap.moment` begin after this. */
const FIRST_MS = Date.parse('0000-01-01T00:00:00.000Z') - 1;

export const removalMethods = (database: Database): LeadRemoval => ({
  async findByIds(ids, companyId) {
    const values = [ids.filter(isStorable), companyId ?? null] as const;
    return isStorable(companyId ?? '')
      ? database.query<RemovableLead>(FIND_BY_IDS, values, { timeoutMs: NO_TIMEOUT_MS })
      : [];
  },

  async scan(contact, after, companyId) {
    const values = [
      contact.emails.map(normalizeEmail).filter(isStorable),
      contact.phones.map(normalizePhone),
      companyId ?? after?.companyId ?? '',
      after?.createdAt ?? FIRST_MS,
      WHITE_SPACE,
    ];
    const text = scanSql(companyId !== undefined);
    const [row] = await database.query<ScanRow>(text, values, { timeoutMs: NO_TIMEOUT_MS });
    const { scanned = 0, last, leads = [] } = row ?? {};
    return { leads, scanned, last: scanned === LEADS_PER_SCAN ? (last ?? undefined) : undefined };
  },

  /** Under the locks of the companies: no writer can add one of the ids between the two statements. */
  erase: (leads) =>
    database.transaction(async (session) => {
      await lockCompanies(session, [...new Set(leads.map(({ companyId }) => companyId))]);
      const keys = leads.map(({ companyId, createdAt, id }) => {
        return { companyId, createdAt, id, hash: hashErasedId(id) };
      });
      const deleted = await session.query(DELETE_LEADS, [JSON.stringify(keys)]);
      await session.query(REMEMBER_ERASED, [JSON.stringify(keys)]);
      return deleted.length;
    }),

  async countOlder(companyId, before) {
    const values = [companyId, before];
    const [row] = await database.query<{ count: number }>(COUNT_OLDER, values, { timeoutMs: NO_TIMEOUT_MS });
    return row?.count ?? 0;
  },

  async prune(companyId, before, limit) {
    const values = [companyId, before, limit];
    const deleted = await database.transaction((session) => session.query(PRUNE, values));
    return deleted.length;
  },

  vacuum: (full = false) => vacuum(database, full),
});

/** The owner may, and from PostgreSQL 17 on a role with MAINTAIN. VACUUM itself only warns, and does nothing. */
const MAY_VACUUM = `
  SELECT pg_has_role(c.relowner, 'USAGE')
         OR CASE WHEN current_setting('server_version_num')::integer >= 170000
                 THEN has_table_privilege(c.oid, 'MAINTAIN') ELSE false END AS "mayVacuum"
    FROM pg_class AS c WHERE c.oid = 'leadtap.leads'::regclass`;

/** ANALYZE replaces the samples of ids that the planner keeps. */
const VACUUM = 'VACUUM (ANALYZE) leadtap.leads';
const VACUUM_FULL = 'VACUUM (FULL, ANALYZE) leadtap.leads';

/** Polls that arrive while VACUUM FULL waits for its lock would wait behind it, so it is tried for a short time before. */
const TRY_LOCK = 'LOCK TABLE leadtap.leads IN ACCESS EXCLUSIVE MODE';
const TRY_LOCK_TIMEOUT_MS = 2000;

const LOGS_REMAIN =
  'The write-ahead log, WAL archives and backups of PostgreSQL contain the deleted leads until you recycle or delete them.';

/**
 * VACUUM frees the space of deleted rows but does not overwrite it. VACUUM FULL writes the table and its indexes again; polls
 * and writers wait meanwhile.
 */
async function vacuum(database: Database, full: boolean): Promise<VacuumReport> {
  const [rights] = await database.query<{ mayVacuum: boolean }>(MAY_VACUUM);
  if (!rights?.mayVacuum) {
    const fix = `This login may not vacuum the table. To remove the bytes of deleted leads from its files, run as its owner: ${VACUUM_FULL}`;
    return { isComplete: !full, remains: [fix, LOGS_REMAIN] };
  }
  const noTimeout = { timeoutMs: NO_TIMEOUT_MS };
  if (!full) {
    await database.query(VACUUM, [], noTimeout);
    const free =
      'Free space in the files of PostgreSQL may contain bytes of the deleted leads until it is used again. To remove them now, run `leadtap leads erase --vacuum`; polls and writers wait or get 503 while it rewrites the table.';
    return { isComplete: true, remains: [free, LOGS_REMAIN] };
  }
  try {
    await database.transaction((session) => session.query(TRY_LOCK), { lockTimeoutMs: TRY_LOCK_TIMEOUT_MS });
    await database.query(VACUUM_FULL, [], noTimeout);
    return { isComplete: true, remains: [LOGS_REMAIN] };
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    const fix = `The table was not rewritten (${error.message}). Run \`leadtap leads erase --vacuum\` again.`;
    return { isComplete: false, remains: [fix, LOGS_REMAIN] };
  }
}
