import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { type PostgresServer, startPostgres } from '../../../../packages/testing/servers/postgres.ts';
import type { Cleanup } from '../../cleanup.ts';
import type { Load } from '../../load/messages.ts';
import { databaseFile, type Home, leadtap, sqliteIn } from '../../service/leadtap.ts';
import { POSTGRES_SETTINGS } from '../../service/postgres-settings.ts';
import { fillPostgres } from './fill-postgres.ts';
import { large, MEDIUM, type Shape, SMALL, usersIn } from './shape.ts';

export type StoreName = 'sqlite' | 'postgres';
export const SIZES = ['small', 'medium', 'large'] as const;
export type SizeName = (typeof SIZES)[number];

/** A database that is filled, and how to serve it. */
export interface GrowthDatabase {
  readonly shape: Shape;
  readonly home: Home;
  /** Whose processor time is the database's. */
  readonly servers: Load['processes'];
}

export type GrowthDatabases = Record<StoreName, Record<SizeName, GrowthDatabase>>;

interface Making {
  readonly folder: string;
  /** Leads of the largest one. */
  readonly leads: number;
  readonly cleanup: Cleanup;
  readonly progress: (line: string) => void;
}

const FILL_SQLITE = fileURLToPath(new URL('./fill-sqlite.js', import.meta.url));

/** Both stores at three sizes, each store at the same time as the other. */
export async function makeDatabases(making: Making): Promise<GrowthDatabases> {
  const shapes = { small: SMALL, medium: MEDIUM, large: large(making.leads) };
  for (const [size, shape] of Object.entries(shapes)) {
    const { leads, companies } = shape;
    const [a, b, c] = [leads, companies, usersIn(shape)].map((count) => count.toLocaleString('en'));
    making.progress(`${size}: ${a} leads, ${b} companies, ${c} users`);
  }
  // Not together with the others: each needs a server first.
  const settings = { ...POSTGRES_SETTINGS, max_wal_size: '8GB' };
  const server = making.cleanup.own(await startPostgres({ settings }));
  const [sqlite, postgres] = await Promise.all([
    forEachSize((size) => makeSqlite(making, size, shapes[size])),
    forEachSize((size) => makePostgres(making, server, size, shapes[size])),
  ]);
  return { sqlite, postgres };
}

async function forEachSize<T>(make: (size: SizeName) => Promise<T>): Promise<Record<SizeName, T>> {
  return { small: await make('small'), medium: await make('medium'), large: await make('large') };
}

async function homeOf(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  return folder;
}

async function makeSqlite(making: Making, size: SizeName, shape: Shape): Promise<GrowthDatabase> {
  const home = sqliteIn(await homeOf(join(making.folder, `sqlite-${size}`)));
  await leadtap(home, ['migrate']);
  const argv = [FILL_SQLITE, databaseFile(home.folder), JSON.stringify(shape)];
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'inherit', 'inherit'] });
  making.cleanup.add(() => child.kill('SIGKILL'));
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error('the SQLite database could not be filled');
  making.progress(`SQLite, ${size}: filled`);
  return { shape, home, servers: {} };
}

async function makePostgres(
  making: Making,
  server: PostgresServer,
  size: SizeName,
  shape: Shape,
): Promise<GrowthDatabase> {
  const url = new URL(server.url);
  url.pathname = `/${size}`;
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${size}`);
  await admin.end();
  const folder = await homeOf(join(making.folder, `postgres-${size}`));
  const home = { folder, settings: { LEADTAP_DATABASE_URL: url.href } };
  await leadtap(home, ['migrate']);
  await fillPostgres(url.href, shape, (done) => {
    if (done % 1_000_000 === 0) making.progress(`PostgreSQL, ${size}: ${done.toLocaleString('en')} leads`);
  });
  making.progress(`PostgreSQL, ${size}: filled`);
  return { shape, home, servers: { postgres: [server.pid ?? 0] } };
}
