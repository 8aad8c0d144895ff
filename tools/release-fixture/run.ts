/** Makes the fixture of this version for the tests of upgrades: a database of each store, what the version said about it, and the program. */
import { execFile } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { findProgram } from '../../packages/testing/servers/find-program.ts';
import { startPostgres } from '../../packages/testing/servers/postgres.ts';
import { POSTGRES } from '../../packages/testing/servers/programs.ts';
import { fillDatabase } from './data.ts';
import { Program } from './program.ts';

const run = promisify(execFile);
/** From `dist/tools/release-fixture/`. */
const ROOT = fileURLToPath(new URL('../../../../../', import.meta.url));
const RELEASES = join(ROOT, 'packages/server/test/upgrades/releases');

const { version } = JSON.parse(await readFile(join(ROOT, 'packages/server/package.json'), 'utf8'));
const target = join(RELEASES, version);
const folder = await mkdtemp(join(tmpdir(), 'leadtap-fixture-'));
try {
  // Fails if there is one: the fixture of a published version never changes.
  await mkdir(target);
  await makeSqlite();
  await makePostgres();
  await packProgram();
  process.stdout.write(`made ${target}\n`);
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function save(name: string, content: string | Buffer): Promise<void> {
  await writeFile(join(target, `${name}.gz`), gzipSync(content, { level: 9 }));
}

async function fill(store: string, databaseUrl: string): Promise<Program> {
  const program = new Program(ROOT, folder, databaseUrl);
  await save(`${store}.json`, JSON.stringify(await fillDatabase(program, folder)));
  return program;
}

async function makeSqlite(): Promise<void> {
  const program = await fill('sqlite', `sqlite:${join(folder, 'leadtap.db')}`);
  const copy = join(folder, 'copy.db');
  await program.run('backup', copy);
  await save('sqlite.db', await readFile(copy));
}

/** Without owners and rights: any login can load it, and `leadtap migrate` grants the rights. */
async function makePostgres(): Promise<void> {
  const server = await startPostgres();
  try {
    await fill('postgres', server.url);
    const pgDump = join(realpathSync(findProgram(POSTGRES)), '../pg_dump');
    const options = ['--schema=leadtap', '--no-owner', '--no-privileges', '--rows-per-insert=100'];
    const { stdout } = await run(pgDump, [...options, server.url], { maxBuffer: 1 << 26 });
    // Newer versions of pg_dump add commands of psql.
    await save('postgres.sql', stdout.replace(/^\\.*$/gm, ''));
  } finally {
    await server.remove();
  }
}

/** The built files without the console, types and source maps. Dependencies are those of the repository. */
async function packProgram(): Promise<void> {
  const server = join(ROOT, 'packages/server');
  const contract = join(ROOT, 'packages/contract');
  const program = join(folder, 'leadtap');
  const copy = (from: string, to: string, isMeant: (path: string) => boolean) =>
    cp(from, to, { recursive: true, filter: (path) => !/\.[a-z]+$/.test(basename(path)) || isMeant(path) });
  const isCode = (path: string) => /(?<!\.d)\.(c?js|json)$/.test(path) && !path.includes('/dist/console/');
  for (const part of ['bin', 'dist', 'package.json'])
    await copy(join(server, part), join(program, part), isCode);
  await cp(join(server, 'assets'), join(program, 'assets'), { recursive: true });
  await copy(join(server, 'src/store'), join(program, 'src/store'), (path) => path.endsWith('.sql'));
  for (const part of ['dist', 'package.json'])
    await copy(join(contract, part), join(program, 'node_modules/@leadtap/contract', part), isCode);
  const tar = ['--create', '--file=program.tar', '--owner=0', '--group=0', '--sort=name', 'leadtap'];
  await run('tar', tar, { cwd: folder });
  // A quarter smaller than with gzip.
  const compressed = brotliCompressSync(await readFile(join(folder, 'program.tar')));
  await writeFile(join(target, 'program.tar.br'), compressed);
}
