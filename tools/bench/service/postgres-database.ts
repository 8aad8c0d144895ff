import pg from 'pg';
import type { PostgresServer } from '../../../packages/testing/servers/postgres.ts';

/** A database of its own on the server. */
export async function newDatabase(server: PostgresServer, name: string): Promise<string> {
  const client = new pg.Client(server.url);
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  return url.href;
}
