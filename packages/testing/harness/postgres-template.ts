import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { Pool } from 'pg';
import { inject } from 'vitest';
import { parseConfig } from '../../server/src/config.ts';
import { openStore } from '../../server/src/open-store.ts';
import { LONG_STORE_TIMEOUTS } from './timeouts.ts';

/** Any number will do for the lock under which the template is made. */
const LOCK = 20_260_302;
const SCHEMA = new URL('../../server/src/store/postgres/', import.meta.url);

const found = new Map<string, Promise<void>>();

/** The database that the databases of tests are copies of. It is migrated once in a run, or again if that changed. */
export async function findTemplate(administrator: Pool, server: string): Promise<string> {
  const template = `${inject('runName')}_${schemaDigest()}`;
  const finding = found.get(template) ?? makeUnlessMade(administrator, server, template);
  found.set(template, finding);
  await finding;
  return template;
}

/** Of all SQL that makes the schema. */
function schemaDigest(): string {
  const files = readdirSync(SCHEMA, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.sql'),
  );
  const hash = createHash('sha256');
  for (const name of files.sort()) hash.update(readFileSync(new URL(name, SCHEMA)));
  return hash.digest('hex').slice(0, 8);
}

/** The first process creates it. It gets its name when it is complete, so that no process copies half of it. */
async function makeUnlessMade(administrator: Pool, server: string, template: string): Promise<void> {
  const client = await administrator.connect();
  const half = `${template}_half`;
  try {
    await client.query('SELECT pg_advisory_lock($1)', [LOCK]);
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [template]);
    if (rowCount !== 0) return;
    await client.query(`DROP DATABASE IF EXISTS ${half}`);
    await client.query(`CREATE DATABASE ${half}`);
    const env = { LEADTAP_DATABASE_URL: databaseUrl(server, half) };
    // Not with the timeouts of `leadtap migrate`: a server that has just started may be slow.
    const store = await openStore(parseConfig({ env, cwd: '/' }), { timeouts: LONG_STORE_TIMEOUTS });
    await store.close();
    await client.query(`ALTER DATABASE ${half} RENAME TO ${template}`);
  } finally {
    // The end of the connection is the end of its lock.
    client.release(true);
  }
}

export function databaseUrl(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
}
