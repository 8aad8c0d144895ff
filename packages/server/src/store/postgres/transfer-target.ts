import pg from 'pg';
import { queryInChunks } from '../../sql/sql.ts';
import { type MoveTarget, RowsRefusedError } from '../transfer/port.ts';
import { type Column, type ColumnKind, LEADS, type Row, type Table } from '../transfer/tables.ts';
import { Database, lockCompanies, NO_TIMEOUT_MS, type Session, type SqlValue } from './connection.ts';
import { useSchema } from './migrate.ts';
import { RECORD_TYPES, runTask } from './sql.ts';
import { LONG_TIMEOUTS } from './timeouts.ts';

const ROWS_PER_PAGE = 1000;

/** Brings the schema up to date. If it is, the rights of the service are enough. */
export async function openPostgresMoveTarget(url: string, signal?: AbortSignal): Promise<MoveTarget> {
  const database = new Database(url, 1, LONG_TIMEOUTS, signal);
  try {
    await useSchema(database);
    return createTarget(database);
  } catch (error) {
    await database.close();
    throw error;
  }
}

function insertSql({ name, columns }: Table, onConflict = ''): string {
  const values = columns.map(({ name, kind }) => toStored(`r.${name}`, kind));
  const types = columns.map(({ name, kind }) => `${name} ${RECORD_TYPES[kind]}`);
  return `
    INSERT INTO leadtap.${name} (${columns.map(({ name }) => name).join(', ')})
    SELECT ${values.join(', ')} FROM json_to_recordset($1) AS r (${types.join(', ')})
    ${onConflict} RETURNING 1`;
}

const toStored = (value: string, kind: ColumnKind): string =>
  kind === 'time' ? `leadtap.from_ms(${value})` : value;

function toSelected({ name, kind }: Column): string {
  if (kind === 'time') return `leadtap.to_ms(${name}) AS ${name}`;
  // The driver reads JSON faster than arrays.
  return kind === 'texts' ? `to_json(${name}) AS ${name}` : name;
}

function pageSql({ name, columns, key }: Table, after: Row | undefined): string {
  // By their bytes, in whatever language the database is.
  const order = key.map(({ name, kind }) => (kind === 'text' ? `${name} COLLATE "C"` : name)).join(', ');
  const marks = key.map(({ kind }, index) => toStored(`$${index + 1}`, kind)).join(', ');
  const where = after === undefined ? '' : `WHERE (${order}) > (${marks})`;
  return `SELECT ${columns.map(toSelected).join(', ')} FROM leadtap.${name} ${where}
           ORDER BY ${order} LIMIT ${ROWS_PER_PAGE}`;
}

const keyValuesOf = ({ key }: Table, row: Row): SqlValue[] => key.map(({ name }) => row[name] as SqlValue);

/** Keeps the times and trigger ids of the rows. */
const KEEP_HISTORY = `SET LOCAL leadtap.historical = 'moved'`;

const RAISE_STAMPS = `
  UPDATE leadtap.companies AS c SET stamp_floor = leadtap.from_ms(s.stamp)
    FROM json_to_recordset($1) AS s ("companyId" text, stamp bigint)
   WHERE c.id = s."companyId" AND (c.stamp_floor IS NULL OR c.stamp_floor < leadtap.from_ms(s.stamp))`;

/** For companies that were deleted in the source. One that is inserted again continues after these stamps. */
const KEEP_DELETED_STAMPS = `
  INSERT INTO leadtap.deleted_stamps (company_id, created_at)
  SELECT s."companyId", leadtap.from_ms(s.stamp) FROM json_to_recordset($1) AS s ("companyId" text, stamp bigint)
   WHERE NOT EXISTS (SELECT FROM leadtap.companies AS c WHERE c.id = s."companyId")
  ON CONFLICT DO NOTHING`;

/** Sorting a large table takes long. */
const NO_TIMEOUT = { timeoutMs: NO_TIMEOUT_MS };

const createTarget = (database: Database): MoveTarget => ({
  page(table, after) {
    const values = after === undefined ? [] : keyValuesOf(table, after);
    return database.query<Row>(pageSql(table, after), values, NO_TIMEOUT);
  },

  async add(table, rows) {
    try {
      await database.transaction(async (session) => {
        if (table === LEADS) await addLeads(session, rows);
        else await runTask(session, queryInChunks(insertSql(table, 'ON CONFLICT DO NOTHING'), rows));
      });
    } catch (error) {
      throw asRefusal(error, table);
    }
  },

  async raiseStamps(stamps) {
    await database.transaction(async (session) => {
      await runTask(session, queryInChunks(RAISE_STAMPS, stamps));
      await runTask(session, queryInChunks(KEEP_DELETED_STAMPS, stamps));
    });
  },

  close: () => database.close(),
});

const INSERT_LEADS = insertSql(LEADS);

async function addLeads(session: Session, rows: readonly Row[]): Promise<void> {
  await session.query(KEEP_HISTORY);
  await lockCompanies(session, [...new Set(rows.map((row) => String(row['company_id'])))]);
  const added = await session.query(INSERT_LEADS, [JSON.stringify(rows)]);
  if (added.length !== rows.length)
    throw new RowsRefusedError('the target got a lead with the same id meanwhile, from another program');
}

/** The classes of errors about the values of the rows. */
const ABOUT_VALUES = /^(22|23|54)/;

function asRefusal(error: unknown, { name }: Table): unknown {
  if (!(error instanceof pg.DatabaseError) || !ABOUT_VALUES.test(error.code ?? '')) return error;
  const words = [error.message, error.detail].filter(Boolean).join('; ');
  return new RowsRefusedError(`PostgreSQL refuses rows of ${name}: ${words}`, { cause: error });
}
