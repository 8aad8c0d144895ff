/** The fixtures of earlier versions (CONTRIBUTING.md says how they are made): databases, what the version said about them, its program. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { Client } from 'pg';
import { inject } from 'vitest';
import type { Expectations } from '../../../../tools/release-fixture/data.ts';
import { makeTestDatabase } from '../../../testing/harness/database.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';

export const RELEASES = new URL('releases/', import.meta.url);

/** Oldest first. */
export const VERSIONS = readdirSync(RELEASES).sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
const LAST_VERSION = VERSIONS.at(-1) ?? '';

const readFixture = (version: string, name: string): Buffer =>
  gunzipSync(readFileSync(new URL(`${version}/${name}.gz`, RELEASES)));

export interface ReleaseDatabase {
  readonly folder: string;
  readonly url: string;
  readonly expected: Expectations;
}

/** A copy of the database, on the store that the run is about. */
export async function restoreRelease(version = LAST_VERSION): Promise<ReleaseDatabase> {
  const folder = tempFolder();
  const store = inject('store');
  const { url } = await makeTestDatabase(undefined, { folder, empty: true });
  if (store === 'sqlite') writeFileSync(join(folder, 'leadtap.db'), readFixture(version, 'sqlite.db'));
  else await loadSql(url, readFixture(version, 'postgres.sql').toString());
  const expected: Expectations = JSON.parse(readFixture(version, `${store}.json`).toString());
  return { folder, url, expected };
}

async function loadSql(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(sql);
  await client.end();
}

/** The program of the last version, as the path of its `bin`. Its dependencies are those of the repository, except `@leadtap/contract`, which it brings. */
export function unpackProgram(): string {
  const folder = tempFolder();
  execFileSync('tar', ['--extract', '--file=-', `--directory=${folder}`], {
    input: brotliDecompressSync(readFileSync(new URL(`${LAST_VERSION}/program.tar.br`, RELEASES))),
  });
  symlinkSync(
    fileURLToPath(new URL('../../../../node_modules', import.meta.url)),
    join(folder, 'node_modules'),
  );
  return join(folder, 'leadtap/bin/leadtap.js');
}

type Fields = Readonly<Record<string, unknown>>;

const pickFields = (earlier: Fields, later: Fields): Fields =>
  Object.fromEntries(Object.keys(earlier).map((name) => [name, later[name]]));

/** The body of a later version without the fields that the earlier one does not know. */
export function withFieldsOf(earlier: string, later: string): string {
  const [before, after]: (Fields | Fields[])[] = [JSON.parse(earlier), JSON.parse(later)];
  if (!Array.isArray(before) || !Array.isArray(after))
    return JSON.stringify(pickFields(before as Fields, after as Fields));
  return JSON.stringify(after.map((item, index) => pickFields(before[index] ?? {}, item)));
}
