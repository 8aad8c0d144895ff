import type { Command } from 'commander';
import { migrateStore } from '../open-store.ts';
import { addCommand } from './command.ts';
import { type CommandContext, loadConfig } from './context.ts';
import { exitCodeOf } from './exit.ts';
import { asFailure } from './failure.ts';
import { type MoveFlags, moveDatabase } from './migrate/move.ts';
import { writeJson, writeLine } from './output.ts';

interface MigrateFlags extends MoveFlags {
  readonly json?: true;
}

export function registerMigrate(program: Command, context: CommandContext): void {
  addCommand(program, context, {
    name: 'migrate',
    summary: 'bring the schema up to date, or move to PostgreSQL',
    description:
      'Bring the schema of the database up to date, and report the changes. Or move an SQLite database to PostgreSQL.',
    options: {
      '--from <address>': 'move: the SQLite database, such as sqlite:./data/leadtap.db',
      '--to <address>': 'move: the PostgreSQL database, such as postgres://user:password@host:5432/database',
      '--json': 'print { from, to, applied }; for a move { from, to, verified, rows }',
    },
    help: `
Every command migrates first, unless LEADTAP_AUTO_MIGRATE=false: then only this one changes the schema.
It is safe to run it twice, and from several places at once.

With PostgreSQL it creates the schema leadtap and the roles leadtap_owner, leadtap_service and leadtap_writer. If its login
may not create roles, it continues without them and says so. The service needs only leadtap_service: with
LEADTAP_AUTO_MIGRATE=false, a login that is IN ROLE leadtap_service is enough for it.

With --from, --to or both it moves an SQLite database to PostgreSQL instead, and verifies the copy. The default of both
is LEADTAP_DATABASE_URL. Stop the service first. To continue after an interruption, run the same command again.
Then set LEADTAP_DATABASE_URL to the new database, keep the signing key, and start the service.`,
    examples: [
      'leadtap migrate',
      'leadtap migrate --from sqlite:./data/leadtap.db --to postgres://leadtap:secret@db.example.com:5432/leadtap',
    ],
    run: migrate,
  });
}

async function migrate(context: CommandContext, flags: MigrateFlags): Promise<void> {
  if (flags.from !== undefined || flags.to !== undefined) return moveDatabase(context, flags);
  await migrateSchema(context, flags);
}

async function migrateSchema(context: CommandContext, { json }: MigrateFlags): Promise<void> {
  const config = await loadConfig(context);
  const { signal } = context;
  const report = await migrateStore(config, signal).catch((error: unknown) => {
    throw signal.aborted ? exitCodeOf(signal) : asFailure(error, config);
  });
  for (const sentence of report.warnings ?? []) await writeLine(context.stderr, `leadtap: ${sentence}`);
  if (json) return writeJson(context.stdout, report);
  const { from, to, applied } = report;
  if (applied.length === 0)
    return writeLine(context.stdout, `The schema is up to date, at version ${to}. Nothing was done.`);
  for (const name of applied) await writeLine(context.stdout, `applied ${name}`);
  await writeLine(context.stdout, `The schema went from version ${from} to version ${to}.`);
}
