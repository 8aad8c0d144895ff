import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Client } from 'pg';
import { inject, onTestFinished } from 'vitest';
import { withClient } from '../../../testing/delivery-trial/postgres/with-client.ts';
import { sharedServer } from '../../../testing/harness/shared-servers.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';

/** Both databases of a move, in a folder like that of an installation. */
export interface Endpoints {
  readonly folder: string;
  readonly file: string;
  readonly from: string;
  /** An empty database. */
  readonly to: string;
  /** Runs SQL in it. */
  sql(text: string): Promise<Record<string, unknown>[]>;
}

export async function makeEndpoints(): Promise<Endpoints> {
  const folder = tempFolder();
  const file = join(folder, 'data', 'leadtap.db');
  const to = await makeDatabase();
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

async function makeDatabase(): Promise<string> {
  const server = await sharedServer('postgres');
  const name = `${inject('runName')}_${randomBytes(6).toString('hex')}`;
  await withClient(server, (client) => client.query(`CREATE DATABASE ${name} TEMPLATE template0`));
  onTestFinished(() =>
    withClient(server, async (client) => {
      await client.query(`DROP DATABASE ${name} WITH (FORCE)`);
    }),
  );
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}
