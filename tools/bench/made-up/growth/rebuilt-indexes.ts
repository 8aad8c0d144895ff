import type { Client } from 'pg';

interface Index {
  readonly name: string;
  readonly definition: string;
  /** Where the index belongs to one: the primary key, or what is unique. */
  readonly constraint: string | null;
  readonly constraintDefinition: string | null;
}

const INDEXES = `SELECT i.indexrelid::regclass::text AS name, pg_get_indexdef(i.indexrelid) AS definition,
    quote_ident(c.conname) AS constraint, pg_get_constraintdef(c.oid) AS "constraintDefinition"
  FROM pg_index AS i LEFT JOIN pg_constraint AS c ON c.conindid = i.indexrelid AND c.contype IN ('p', 'u')
  WHERE i.indrelid = $1::regclass`;

/**
 * Fills a table without its indexes and makes them afterwards, as a restore does: to put ten million rows into each of
 * them one by one takes three times as long.
 */
export async function withIndexesRebuilt(
  client: Client,
  table: string,
  fill: () => Promise<void>,
): Promise<void> {
  const { rows: indexes } = await client.query<Index>(INDEXES, [table]);
  for (const { name, constraint } of indexes)
    await client.query(
      constraint ? `ALTER TABLE ${table} DROP CONSTRAINT ${constraint}` : `DROP INDEX ${name}`,
    );
  await fill();
  await client.query(`SET maintenance_work_mem = '512MB'`);
  for (const { definition, constraint, constraintDefinition } of indexes)
    await client.query(
      constraint ? `ALTER TABLE ${table} ADD CONSTRAINT ${constraint} ${constraintDefinition}` : definition,
    );
}
