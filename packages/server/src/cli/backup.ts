import { mkdir, readdir, realpath, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { describeDatabase } from '../config.ts';
import { toIso } from '../lib/clock.ts';
import { messageOf, systemCode } from '../lib/system-error.ts';
import { type Engine, engineOf } from '../open-store.ts';
import { BackupTargetError, SchemaVersionError } from '../sql/errors.ts';
import { addCommand, parseNumber } from './command.ts';
import { type CommandContext, loadConfig } from './context.ts';
import { exitCodeOf, Failure } from './exit.ts';
import { asFailure } from './failure.ts';
import { writeJson, writeLine } from './output.ts';

export function registerBackup(program: Command, context: CommandContext): void {
  addCommand(program, context, {
    name: 'backup',
    description: 'copy an SQLite database while it is served',
    arguments: { '<file>': 'the new file; with --keep, the folder of the backups' },
    options: {
      '--keep <number>': {
        text: 'write a file with the time in its name into a folder, and keep so many of them',
        parse: parseNumber(1, 999_999),
      },
      '--json': 'print { file, bytes }; with --keep, also { deleted }: the files that were deleted',
    },
    help: `
Copies an SQLite database while the service runs. The copy contains every lead that was acknowledged before the command
started. It gets its name when it is complete, checked and on the disk; before that it is called FILE.….partial. An
existing file is never replaced. Only its owner can read the file, because it contains the data of your customers.
The status page shows the time of the last backup, from the file leadtap.db.last-backup beside the database.

With --keep, the new file is called leadtap-2026-03-02T09-30-00Z.db, with the time in UTC, and the folder is created
if it does not exist. When the file is complete, older files with such names are deleted, except the newest ones. Use
another folder for each database. Other files are not touched.

The signing key is not in the database: copy its file, too. For PostgreSQL, use pg_dump.`,
    examples: [
      'leadtap backup backup.db',
      '0 3 * * *  leadtap backup --keep 14 backups       every night, in a crontab',
    ],
    run: backup,
  });
}

const MIB = 1024 * 1024;

/** For the status page. The backup is complete, whether it can be recorded or not. */
async function recordBackup({ backupTimes }: Engine, at: number, { stderr }: CommandContext): Promise<void> {
  try {
    await backupTimes?.writeLast(at);
  } catch (error) {
    await writeLine(stderr, `The status page will not show this backup: ${messageOf(error)}`);
  }
}

/** No colons: Windows and scp do not accept them. Sorted by name, they are sorted by time. */
const keptName = (at: number): string => `leadtap-${toIso(at).slice(0, 19).replaceAll(':', '-')}Z.db`;
const KEPT_NAME = /^leadtap-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.db$/;

/** Readable for its owner only, as the files in it. The database may be a backup in service, or a link to one: neither is deleted. */
async function makeFolder(folder: string, databaseFile = ''): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    if (systemCode(error) === 'EEXIST') throw new BackupTargetError(`${folder} is a file, not a folder`);
    throw new BackupTargetError(`the folder ${folder} cannot be created`, { cause: error });
  }
  const ofDatabase = [await realpath(dirname(databaseFile)), dirname(await realpath(databaseFile))];
  if (ofDatabase.includes(await realpath(folder)))
    throw new BackupTargetError(`${folder} is the folder of the database`);
}

/** Deletes backups that are older than the new one, except the newest of them. Those of a clock that was ahead are not older. */
async function deleteOlder(folder: string, newName: string, keep: number): Promise<string[]> {
  const deleted: string[] = [];
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
    // A service may use a backup as its database. It has a log beside it then.
    const isFree = (name: string) => !names.includes(`${name}-wal`);
    const older = names.filter((name) => KEPT_NAME.test(name) && name < newName && isFree(name)).sort();
    for (const name of older.reverse().slice(keep - 1)) {
      await rm(join(folder, name));
      deleted.push(join(folder, name));
    }
  } catch (error) {
    const fix = `Allow this user to delete files in ${folder}.`;
    throw new Failure('unavailable', 'older backups cannot be deleted', fix).causedBy(error);
  }
  return deleted;
}

interface BackupFlags {
  readonly keep?: number;
  readonly json?: true;
}

async function backup(context: CommandContext, { keep, json }: BackupFlags, file: string): Promise<void> {
  const { stdout, stderr, clock, signal, cwd } = context;
  const config = await loadConfig(context);
  const { database, signingKey } = config;
  const startedAt = clock();
  const given = resolve(cwd, file);
  const name = keptName(startedAt);
  const target = keep === undefined ? given : join(given, name);
  const engine = engineOf(database);
  try {
    const state = await engine.inspect(clock, signal);
    if (!state.exists) throw new SchemaVersionError(0, state.expectedVersion);
    if (!engine.backup)
      throw new Failure(
        'unavailable',
        `leadtap backup copies SQLite files, and ${describeDatabase(database)} is a server`,
        'Run pg_dump --format=custom --schema=leadtap --file=FILE DATABASE_URL, with the login that owns the schema.',
      );
    if (keep !== undefined) await makeFolder(given, engine.file);
    const { bytes } = await engine.backup(target, signal);
    await recordBackup(engine, startedAt, context);
    if (!json) await writeLine(stdout, `${target} has ${(bytes / MIB).toFixed(1)} MiB`);
    const deleted = keep === undefined ? undefined : await deleteOlder(given, name, keep);
    if (json) return await writeJson(stdout, { file: target, bytes, ...(deleted && { deleted }) });
    for (const path of deleted ?? []) await writeLine(stdout, `Deleted ${path}`);
    // Not every night, in the log of a job.
    if ('file' in signingKey && (keep === undefined || stderr.isTTY))
      await writeLine(stderr, `Copy the signing key as well, to another place: ${signingKey.file}`);
  } catch (error) {
    if (signal.aborted) throw exitCodeOf(signal);
    if (error instanceof BackupTargetError)
      throw new Failure(
        'unavailable',
        error.message,
        keep === undefined
          ? 'Give the name of a new file in a folder that this user may write to.'
          : 'Give another folder that this user may write to.',
      ).causedBy(error.cause);
    throw asFailure(error, config);
  }
}
