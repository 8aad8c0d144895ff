import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { Change } from '../judge/history.ts';
import { hasWaiters } from './waiters.ts';

export const LOAD_FORMS = ['INSERT … SELECT', 'COPY'] as const;

export interface BulkLoadOptions {
  readonly databaseUrl: string;
  readonly companyId: string;
  readonly rows: number;
  readonly form: (typeof LOAD_FORMS)[number];
}

export interface BulkLoad {
  readonly leads: readonly Change[];
  /** Settles when the statement is done, and nothing is committed yet. */
  readonly written: Promise<void>;
  /** After that: settles when another session waits for this transaction. */
  awaited(): Promise<void>;
  commit(): Promise<void>;
}

/** Begins to load many leads into one company, by one statement in a transaction of its own. Their id is their version. */
export async function beginBulkLoad(options: BulkLoadOptions): Promise<BulkLoad> {
  const { databaseUrl, companyId, rows, form } = options;
  const prefix = form === 'COPY' ? 'copied' : 'selected';
  const ids = Array.from({ length: rows }, (_, index) => `${prefix}-${index}`);
  const client = new Client({ connectionString: databaseUrl, application_name: 'bulk load' });
  client.on('error', () => undefined);
  await client.connect();
  await client.query('BEGIN');
  return {
    leads: ids.map((id) => ({ id, companyId, state: { branchId: null, departmentId: null, version: id } })),
    written: LOAD[form](client, companyId, ids),
    awaited: async () => {
      while (!(await hasWaiters(client)));
    },
    commit: async () => {
      await client.query('COMMIT');
      await client.end();
    },
  };
}

const LOAD: Record<BulkLoadOptions['form'], (client: Client, ...rows: [string, string[]]) => Promise<void>> =
  {
    'INSERT … SELECT': async (client, companyId, ids) => {
      await client.query(
        `INSERT INTO leadtap.leads (company_id, id, first_name) SELECT $1, id, id FROM unnest($2::text[]) AS id`,
        [companyId, ids],
      );
    },
    COPY: async (client, companyId, ids) => {
      const copy = client.query(copyFrom('COPY leadtap.leads (company_id, id, first_name) FROM STDIN'));
      await pipeline(Readable.from(inChunks(companyId, ids)), copy);
    },
  };

function* inChunks(companyId: string, ids: readonly string[]): Generator<string> {
  for (let first = 0; first < ids.length; first += 1000)
    yield ids
      .slice(first, first + 1000)
      .map((id) => `${companyId}\t${id}\t${id}\n`)
      .join('');
}
