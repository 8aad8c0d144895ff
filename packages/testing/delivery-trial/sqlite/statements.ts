import { type Actor, PLACES, type Place } from '../actor.ts';
import type { Change, StoredLead } from '../judge/history.ts';
import type { Recorder } from '../judge/recorder.ts';
import type { Random } from '../random.ts';
import { beginImmediate, openDatabase, type SqliteDatabase, withDatabase } from './database.ts';

interface Row extends Place {
  readonly createdAt: number;
}

const FIND = `SELECT branch_id AS branchId, department_id AS departmentId, created_at AS createdAt
  FROM leads WHERE company_id = ? AND id = ?`;

const find = (database: SqliteDatabase, companyId: string, id: string): Row | undefined =>
  database.prepare(FIND).all(companyId, id)[0] as Row | undefined;

/** In an open transaction. Undefined when the lead is not there. */
export function deleteLead(database: SqliteDatabase, companyId: string, id: string): Change | undefined {
  const { changes } = database
    .prepare('DELETE FROM leads WHERE company_id = ? AND id = ?')
    .run(companyId, id);
  return Number(changes) === 1 ? { companyId, id, state: undefined } : undefined;
}

/** In an open transaction: changes the lead, and moves it if a place is given. */
export function updateLead(
  database: SqliteDatabase,
  companyId: string,
  id: string,
  version: string,
  place?: Place,
): Change | undefined {
  const row = find(database, companyId, id);
  if (!row) return undefined;
  const { branchId, departmentId } = place ?? row;
  database
    .prepare(
      'UPDATE leads SET first_name = ?, branch_id = ?, department_id = ? WHERE company_id = ? AND id = ?',
    )
    .run(version, branchId, departmentId, companyId, id);
  return { companyId, id, createdAt: row.createdAt, state: { branchId, departmentId, version } };
}

/** Commits what an open transaction has changed. */
export function commitChanges(
  database: SqliteDatabase,
  recorder: Recorder,
  changes: readonly Change[],
): void {
  const commit = recorder.commit(changes);
  database.exec('COMMIT');
  commit.acknowledge();
}

export interface StatementWriterOptions {
  readonly file: string;
  readonly name: string;
  readonly companyIds: readonly string[];
  readonly ids: readonly [string, ...string[]];
}

/** A program that deletes, changes and moves leads with SQL. */
export const statementWriter = ({ file, name, companyIds, ids }: StatementWriterOptions): Actor => ({
  name: 'SQL deletes, updates and moves',
  run: async ({ recorder, random, goesOn, pause }) => {
    const database = openDatabase(file);
    for (let done = 0; goesOn(done); done += 1) {
      const companyId = companyIds[random.below(companyIds.length)] ?? '';
      await beginImmediate(database);
      const change = changeOne(database, recorder, random, companyId, random.pick(...ids), name);
      await pause(random.pick(0, 2, 10));
      if (random.chance(10)) database.exec('ROLLBACK');
      else commitChanges(database, recorder, change ? [change] : []);
      await pause(random.below(30));
    }
    database.close();
  },
});

function changeOne(
  database: SqliteDatabase,
  recorder: Recorder,
  random: Random,
  companyId: string,
  id: string,
  name: string,
): Change | undefined {
  const what = random.pick('deletes', 'updates', 'moves');
  const version = `${name}.${recorder.next()}`;
  const place = what === 'moves' ? random.pick(...PLACES) : undefined;
  const change =
    what === 'deletes'
      ? deleteLead(database, companyId, id)
      : updateLead(database, companyId, id, version, place);
  if (change) recorder.count(what);
  return change;
}

/** In the order of the foreign keys. */
const TABLES = ['leads', 'users', 'statuses', 'departments', 'branches'];

export const deleteCompanyFromFile =
  (file: string) =>
  (companyId: string, beforeCommit: (ids: readonly string[]) => () => void): Promise<void> =>
    withDatabase(file, async (database) => {
      await beginImmediate(database);
      const rows = database.prepare('SELECT id FROM leads WHERE company_id = ?').all(companyId) as {
        id: string;
      }[];
      for (const table of TABLES)
        database.prepare(`DELETE FROM ${table} WHERE company_id = ?`).run(companyId);
      database.prepare('DELETE FROM companies WHERE id = ?').run(companyId);
      const acknowledge = beforeCommit(rows.map(({ id }) => id));
      database.exec('COMMIT');
      acknowledge();
    });

export const readStoredFromFile = (file: string) => (): Promise<StoredLead[]> =>
  withDatabase(
    file,
    (database) =>
      database
        .prepare(
          'SELECT company_id AS companyId, id, first_name AS version, created_at AS createdAt FROM leads',
        )
        .all() as StoredLead[],
  );
