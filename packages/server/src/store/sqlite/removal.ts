/** Deletes leads: erased persons and pruned leads. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import {
  type Contact,
  hashErasedId,
  type LeadKey,
  type LeadRemoval,
  normalizeEmail,
  normalizePhone,
  type RemovableLead,
  type ScanResult,
  type VacuumReport,
} from '../../leads/removal.ts';
import { messageOf } from '../../system-error.ts';
import type { Connection } from './connection.ts';

/** Some megabytes, read in some milliseconds. */
const LEADS_PER_SCAN = 5000;
const CHECKPOINT_RETRY_MS = 20;

const COLUMNS = `company_id AS companyId, created_at AS createdAt, id,
  coalesce(full_name, nullif(trim(coalesce(first_name, '') || ' ' || coalesce(last_name, '')), '')) AS name`;

interface ContactRow extends RemovableLead {
  readonly email: string | null;
  readonly phone1: string | null;
  readonly phone2: string | null;
}

const toLead = ({ companyId, createdAt, id, name }: RemovableLead): RemovableLead => ({
  companyId,
  createdAt,
  id,
  name,
});

export function prepareRemoval(connection: Connection, clock: Clock) {
  const companies = connection.prepare<{ id: string }>('SELECT id FROM companies ORDER BY id');
  const byId = connection.prepare<RemovableLead>(
    `SELECT ${COLUMNS} FROM leads WHERE company_id = ? AND id = ?`,
  );
  const next = connection.prepare<ContactRow>(
    `SELECT ${COLUMNS}, email, phone1, phone2 FROM leads WHERE (company_id, created_at) > (?, ?)
      ORDER BY company_id, created_at LIMIT ${LEADS_PER_SCAN}`,
  );
  const nextOfCompany = connection.prepare<ContactRow>(
    `SELECT ${COLUMNS}, email, phone1, phone2 FROM leads WHERE company_id = ? AND created_at > ?
      ORDER BY created_at LIMIT ${LEADS_PER_SCAN}`,
  );
  const remove = connection.prepare('DELETE FROM leads WHERE company_id = ? AND created_at = ? AND id = ?');
  const remember = connection.prepare(
    `INSERT INTO erased_leads (company_id, id_hash, erased_at) VALUES (?, ?, ?)
     ON CONFLICT (company_id, id_hash) DO UPDATE SET erased_at = excluded.erased_at`,
  );
  const countOlder = connection.prepare<{ n: number }>(
    'SELECT count(*) AS n FROM leads WHERE company_id = ? AND created_at < ?',
  );
  const prune = connection.prepare(
    `DELETE FROM leads WHERE company_id = ?1 AND created_at IN
       (SELECT created_at FROM leads WHERE company_id = ?1 AND created_at < ?2 ORDER BY created_at LIMIT ?3)`,
  );

  return {
    findByIds(ids: readonly string[], companyId?: string): RemovableLead[] {
      const companyIds = companyId === undefined ? companies.all().map((row) => row.id) : [companyId];
      const findOfCompany = (company: string) =>
        [...new Set(ids)].flatMap((id) => byId.get(company, id) ?? []).map(toLead);
      return companyIds.flatMap((company) =>
        findOfCompany(company).sort((a, b) => a.createdAt - b.createdAt),
      );
    },

    scan(contact: Contact, after: LeadKey | undefined, companyId?: string): ScanResult {
      const createdAt = after?.createdAt ?? Number.MIN_SAFE_INTEGER;
      const rows =
        companyId === undefined
          ? next.all(after?.companyId ?? '', createdAt)
          : nextOfCompany.all(companyId, createdAt);
      const matches = createMatcher(contact);
      const last = rows.at(-1);
      return {
        leads: rows.filter(matches).map(toLead),
        scanned: rows.length,
        last: last && rows.length === LEADS_PER_SCAN ? toLead(last) : undefined,
      };
    },

    erase(leads: readonly LeadKey[]): number {
      const erasedAt = clock();
      let erased = 0;
      for (const { companyId, createdAt, id } of leads) {
        erased += Number(remove.run(companyId, createdAt, id).changes);
        remember.run(companyId, hashErasedId(id), erasedAt);
      }
      return erased;
    },

    countOlder: (companyId: string, before: number): number => countOlder.get(companyId, before)?.n ?? 0,
    prune: (companyId: string, before: number, limit: number): number =>
      Number(prune.run(companyId, before, limit).changes),
  };
}

/** In JavaScript, because `lower` of SQLite knows ASCII only. */
function createMatcher(contact: Contact): (row: ContactRow) => boolean {
  const emails = new Set(contact.emails.map(normalizeEmail));
  const phones = new Set(contact.phones.map(normalizePhone));
  return ({ email, phone1, phone2 }) =>
    (email !== null && emails.has(normalizeEmail(email))) ||
    [phone1, phone2].some((phone) => phone !== null && phones.has(normalizePhone(phone)));
}

type Prepared = ReturnType<typeof prepareRemoval>;

export interface RemovalAccess {
  readonly file: string;
  /** For the write lock, which VACUUM needs, and until no reader uses the write-ahead log. */
  readonly vacuumWaitMs: number;
  connection(): Connection;
  read<T>(work: (prepared: Prepared) => T): Promise<T>;
  write<T>(work: (prepared: Prepared) => T): Promise<T>;
}

export const createRemoval = ({ read, write, ...access }: RemovalAccess): LeadRemoval => ({
  findByIds: (ids, companyId) => read((prepared) => prepared.findByIds(ids, companyId)),
  scan: (contact, after, companyId) => read((prepared) => prepared.scan(contact, after, companyId)),
  erase: (leads) => write((prepared) => prepared.erase(leads)),
  countOlder: (companyId, before) => read((prepared) => prepared.countOlder(companyId, before)),
  prune: (companyId, before, limit) => write((prepared) => prepared.prune(companyId, before, limit)),
  vacuum: (full = true) => vacuum(access, full),
});

/** The copy that VACUUM makes is in a file: it may not fit into the memory. */
function vacuumThroughFile(connection: Connection): void {
  connection.exec('PRAGMA temp_store = FILE');
  try {
    connection.exec('VACUUM');
  } finally {
    connection.exec('PRAGMA temp_store = MEMORY');
  }
}

const AGAIN = 'Run `leadtap leads erase --vacuum` to remove them.';

/**
 * `secure_delete` overwrites a row that is deleted. But when SQLite splits a page, it leaves copies of rows in the unused part
 * of the page, in a test of one lead in a hundred. Only VACUUM, which writes the file again, removes them. Polls are answered
 * meanwhile; writers wait, some seconds for each gigabyte, and give up after 10 s.
 */
async function vacuum(
  { file, connection: current, vacuumWaitMs }: Pick<RemovalAccess, 'file' | 'connection' | 'vacuumWaitMs'>,
  full: boolean,
): Promise<VacuumReport> {
  const connection = current();
  const remains: string[] = [];
  let isComplete = true;
  try {
    if (full) await connection.retryWhileBusy(vacuumWaitMs, () => vacuumThroughFile(connection));
    else remains.push(`Unused parts of ${file} may contain copies of deleted leads. ${AGAIN}`);
  } catch (error) {
    isComplete = false;
    remains.push(
      `${file} was not rewritten (${messageOf(error)}), so it may contain copies of deleted leads. ${AGAIN}`,
    );
  }
  if (await checkpoint(connection, vacuumWaitMs)) return { isComplete, remains };
  const log = `${file}-wal contains the deleted leads, because another program has been reading the database all the time. ${AGAIN}`;
  return { isComplete: false, remains: [...remains, log] };
}

/** Copies the write-ahead log, which contains older versions of pages, into the file and empties it. */
async function checkpoint(connection: Connection, waitMs: number): Promise<boolean> {
  const deadline = performance.now() + waitMs;
  while (!connection.checkpoint()) {
    if (performance.now() >= deadline) return false;
    await sleep(CHECKPOINT_RETRY_MS);
  }
  return true;
}
