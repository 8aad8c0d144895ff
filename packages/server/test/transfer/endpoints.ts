import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from 'pg';
import { onTestFinished } from 'vitest';
import { withClient } from '../../../testing/delivery-trial/postgres/with-client.ts';
import { makePostgresDatabase } from '../../../testing/harness/postgres-database.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';

/** Both databases of a move, in a folder like that of an installation. */
export interface Endpoints {
  readonly folder: string;
  readonly file: string;
  readonly from: string;
  /** A database without rows. */
  readonly to: string;
  /** Runs SQL in it. */
  sql(text: string): Promise<Record<string, unknown>[]>;
}

export interface EndpointsOptions {
  /** The bytes of the source. Default: there is no such file. */
  readonly source?: Buffer;
  /** Without it, the move creates the schema of the target, which takes longer than the rest of a small move. Default: true. */
  readonly hasSchema?: boolean;
}

export async function makeEndpoints({ source, hasSchema = true }: EndpointsOptions = {}): Promise<Endpoints> {
  const folder = tempFolder();
  const file = join(folder, 'data', 'leadtap.db');
  if (source) {
    mkdirSync(join(folder, 'data'));
    writeFileSync(file, source);
  }
  const { url: to } = await makePostgresDatabase(onTestFinished, { empty: !hasSchema });
  return {
    folder,
    file,
    from: `sqlite:${file}`,
    to,
    sql: (text) => withClient(to, (client) => rowsOf(client, text)),
  };
}

const rowsOf = async (client: Client, text: string): Promise<Record<string, unknown>[]> =>
  (await client.query(text)).rows;
