import pg from 'pg';
import { queryInChunks } from '../../sql/sql.ts';
import {
  type Column,
  type MoveTarget,
  type Row,
  RowsRefusedError,
  type Table,
} from '../transfer/transfer.ts';
import { Database, lockCompanies, NO_TIMEOUT_MS, type Session, type SqlValue } from './connection.ts';
import { useSchema } from './migrate.ts';
import { runTask } from './sql.ts';
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

/** Tables with a primary key, and their columns in the order of the names. */
const TABLES = `
  SELECT c.relname AS name,
         json_agg(json_build_object('name', a.attname, 'type', t.typname) ORDER BY a.attname) AS columns,
         json_agg(json_build_object('name', a.attname, 'type', t.typname)
           ORDER BY array_position(i.indkey::int2[], a.attnum)) FILTER (WHERE a.attnum = ANY (i.indkey)) AS key
    FROM pg_class AS c JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisprimary
    JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_type AS t ON t.oid = a.atttypid
   WHERE c.relnamespace = 'leadtap'::regnamespace GROUP BY c.relname ORDER BY c.relname`;

const namesOf = (columns: readonly Column[]): string => columns.map(({ name }) => name).join(', ');

function insertSql({ name, columns }: Table, onConflict: string): string {
  const types = columns.map(({ name, type }) => `${name} ${type === 'moment' ? 'bigint' : type}`);
  return `
    INSERT INTO leadtap.${name} (${namesOf(columns)})
    SELECT ${columns.map((column) => toStored(`r.${column.name}`, column)).join(', ')}
      FROM json_to_recordset($1) AS r (${types.join(', ')})
    ${onConflict} RETURNING 1`;
}

const toStored = (value: string, { type }: Column): string =>
  type === 'moment' ? `leadtap.from_ms(${value})` : value;

const toSelected = ({ name, type }: Column): string =>
  type === 'moment' ? `leadtap.to_ms(${name}) AS ${name}` : name;

function pageSql({ name, columns, key }: Table, after: Row | undefined): string {
  // By their bytes, in whatever language the database is.
  const order = key.map(({ name, type }) => (type === 'text' ? `${name} COLLATE "C"` : name)).join(', ');
  const marks = key.map((column, index) => toStored(`$${index + 1}`, column)).join(', ');
  const where = after === undefined ? '' : `WHERE (${order}) > (${marks})`;
  return `SELECT ${columns.map(toSelected).join(', ')} FROM leadtap.${name} ${where}
           ORDER BY ${order} LIMIT ${ROWS_PER_PAGE}`;
}

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
  readTables: () => database.query<Table>(TABLES),

  page(table, after) {
    const values = after && table.key.map(({ name }) => after[name] as SqlValue);
    return database.query<Row>(pageSql(table, after), values, NO_TIMEOUT);
  },

  async add(table, rows) {
    try {
      await database.transaction(async (session) => {
        if (table.name === 'leads') await addLeads(session, table, rows);
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

async function addLeads(session: Session, table: Table, rows: readonly Row[]): Promise<void> {
  await session.query(KEEP_HISTORY);
  await lockCompanies(session, [...new Set(rows.map((row) => String(row['company_id'])))]);
  const added = await session.query(insertSql(table, ''), [JSON.stringify(rows)]);
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
