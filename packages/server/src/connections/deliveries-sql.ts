/** The leads that were sent: one row for each lead and connection, written once, and counted by hour. */
import { type ColumnType, type Dialect, query, type SqlTask } from '../sql/sql.ts';

/** A lead that was written to a socket, or that a receiver has accepted. */
export interface SentLead {
  readonly connection: string;
  readonly companyId: string;
  readonly createdAt: number;
  readonly sentAt: number;
  /** Imported history counts as sent only if the connection asked for it, or it was pushed. */
  readonly mayBeHistory: boolean;
}

export type AddedDelivery = Pick<SentLead, 'connection' | 'createdAt'>;

export interface HourRow {
  readonly connection: string;
  readonly hour: number;
  readonly leads: number;
  readonly updated: number;
  readonly failed: number;
}

const HOUR_MS = 3_600_000;
export const hourOf = (at: number): number => Math.floor(at / HOUR_MS);

const SENT: Readonly<Record<keyof SentLead, ColumnType>> = {
  ...{ connection: 'text', companyId: 'text', createdAt: 'time', sentAt: 'time', mayBeHistory: 'boolean' },
};
const HOUR: Readonly<Record<keyof HourRow, ColumnType>> = {
  ...{ connection: 'text', hour: 'integer', leads: 'integer', updated: 'integer', failed: 'integer' },
};

export const prepareDeliveries = (dialect: Dialect) => ({
  /** A lead that was erased since it was sent gets no row. */
  add: `
    INSERT INTO leadtap.deliveries (created_at, connection, sent_at)
      SELECT l.created_at, r.connection, r."sentAt" FROM ${dialect.rows('$1', SENT)} AS r
        ${dialect.joinEach('leads', 'l', 'l.company_id = r."companyId" AND l.created_at = r."createdAt"')}
       WHERE r."mayBeHistory" OR l.created_at = l.automation_created_at
      ON CONFLICT (created_at, connection) DO NOTHING
      RETURNING connection, leadtap.to_ms(created_at) AS "createdAt"`,
  /** What is sent waits no more. */
  endPending: `
    DELETE FROM leadtap.pending_leads WHERE (connection, created_at) IN (
      SELECT r.connection, r."createdAt" FROM ${dialect.rows('$1', { connection: 'text', createdAt: 'time' })} AS r)`,
  addHours: `
    INSERT INTO leadtap.activity_hours AS h (connection, hour, leads, updated, failed)
      SELECT r.connection, r.hour, r.leads, r.updated, r.failed FROM ${dialect.rows('$1', HOUR)} AS r
       WHERE true ORDER BY r.connection, r.hour
      ON CONFLICT (connection, hour) DO UPDATE SET leads = h.leads + excluded.leads,
        updated = h.updated + excluded.updated, failed = h.failed + excluded.failed`,
});

export type DeliveryStatements = ReturnType<typeof prepareDeliveries>;

/** Returns those that were not sent to the connection before. Their hours are counted by `addHours`. */
export function* addDeliveries(sql: DeliveryStatements, sent: readonly SentLead[]): SqlTask<AddedDelivery[]> {
  return sent.length === 0 ? [] : yield* query<AddedDelivery>(sql.add, [JSON.stringify(sent)]);
}

export function* endPending(sql: DeliveryStatements, sent: readonly AddedDelivery[]): SqlTask<void> {
  const keys = sent.map(({ connection, createdAt }) => ({ connection, createdAt }));
  if (keys.length > 0) yield* query(sql.endPending, [JSON.stringify(keys)]);
}

/** Adds to the counts: two instances may write in any order. */
export function* addHours(sql: DeliveryStatements, rows: readonly HourRow[]): SqlTask<void> {
  const sums = new Map<string, HourRow>();
  for (const row of rows) {
    const key = `${row.connection} ${row.hour}`;
    const sum = sums.get(key);
    sums.set(key, {
      ...{ connection: row.connection, hour: row.hour },
      leads: row.leads + (sum?.leads ?? 0),
      updated: row.updated + (sum?.updated ?? 0),
      failed: row.failed + (sum?.failed ?? 0),
    });
  }
  if (sums.size > 0) yield* query(sql.addHours, [JSON.stringify([...sums.values()])]);
}
