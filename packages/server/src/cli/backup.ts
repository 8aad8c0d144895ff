import { resolve } from 'node:path';
import type { Command } from 'commander';
import { describeDatabase } from '../config.ts';
import { type Engine, engineOf } from '../open-store.ts';
import { BackupTargetError, SchemaVersionError } from '../store/errors.ts';
import { messageOf } from '../system-error.ts';
import { addCommand } from './command.ts';
import { type CommandContext, loadConfig } from './context.ts';
import { exitCodeOf } from './exit.ts';
import { asFailure, Failure } from './failure.ts';
import { writeJson, writeLine } from './output.ts';
import { ProgressBar } from './progress-bar.ts';

export function registerBackup(program: Command, context: CommandContext): void {
  addCommand(program, context, {
    name: 'backup',
    description: 'copy an SQLite database while it is served',
    arguments: { '<file>': 'the new file' },
    options: { '--json': 'print { file, bytes }' },
    help: `
Copies an SQLite database while the service runs. The copy contains every lead that was acknowledged before the command
started. It gets its name when it is complete, checked and on the disk; before that it is called FILE.….partial. An
existing file is never replaced. Only its owner can read the file, because it contains the data of your customers.
The status page shows the time of the last backup, from the file leadtap.db.last-backup beside the database.

The signing key is not in the database: copy its file, too. On PostgreSQL the command prints the pg_dump line to use, and
the exit code is 1.`,
    examples: ['leadtap backup backup.db', 'leadtap backup /backups/leadtap-$(date +%F).db --json'],
    run: backup,
  });
}

const PASSWORD_HINT = 'The line has no password: pg_dump asks for it, or reads PGPASSWORD or ~/.pgpass.';
const MIB = 1024 * 1024;

/** For the status page. The backup is complete, whether it can be recorded or not. */
async function recordBackup({ backupTimes }: Engine, at: number, { stderr }: CommandContext): Promise<void> {
  try {
    await backupTimes?.writeLast(at);
  } catch (error) {
    await writeLine(stderr, `The status page will not show this backup: ${messageOf(error)}`);
  }
}

async function backup(
  context: CommandContext,
  { json }: { readonly json?: true },
  file: string,
): Promise<void> {
  const { stdout, stderr, clock, signal, cwd } = context;
  const config = await loadConfig(context);
  const { database, signingKey } = config;
  const target = resolve(cwd, file);
  const engine = engineOf(database);
  const progress = new ProgressBar(stderr, clock, 'MiB copied');
  try {
    const state = await engine.inspect(clock, signal);
    if (!state.exists) throw new SchemaVersionError(0, state.expectedVersion);
    if (!engine.backup)
      throw new Failure(
        'unavailable',
        `leadtap backup copies SQLite files, and ${describeDatabase(database)} is a server`,
        ...(engine.dumpCommand ? [`Run: ${engine.dumpCommand(target)}`, PASSWORD_HINT] : []),
      );
    const startedAt = clock();
    const { bytes } = await engine.backup(target, {
      signal,
      onProgress: (done, total) =>
        progress.update({ count: done / MIB, share: total > 0 ? Math.min(done / total, 1) : 1 }),
    });
    progress.clear();
    await recordBackup(engine, startedAt, context);
    if (json) return await writeJson(stdout, { file: target, bytes });
    await writeLine(stdout, `${target} has ${(bytes / MIB).toFixed(1)} MiB`);
    if ('file' in signingKey)
      await writeLine(stderr, `Copy the signing key as well, to another place: ${signingKey.file}`);
  } catch (error) {
    progress.clear();
    if (signal.aborted) throw exitCodeOf(signal);
    if (error instanceof BackupTargetError)
      throw new Failure(
        'unavailable',
        error.message,
        'Give the name of a new file in a folder that this user may write to.',
      ).causedBy(error.cause);
    throw asFailure(error, config);
  }
}
