import type { Command } from 'commander';
import { migrateStore } from '../open-store.ts';
import type { CommandContext } from './context.ts';
import { asFailure } from './known-errors.ts';
import { writeJson, writeLine } from './output.ts';
import { loadConfig } from './with-store.ts';

const HELP = `
Every command does this first, unless LEADTAP_AUTO_MIGRATE=false: then only this one changes the schema.
It may be run twice, and from several places at once.

With PostgreSQL it makes the schema leadtap, and the roles leadtap_owner, leadtap_service and leadtap_writer where it
may. The service needs only leadtap_service: docs/postgresql.md tells how to run each with no more rights than that.

Example:
  leadtap migrate`;

export function registerMigrate(program: Command, context: CommandContext): void {
  program
    .command('migrate')
    .summary('bring the schema up to date')
    .description('Bring the schema of the database up to date, and say what was done.')
    .option('--json', 'print { from, to, applied }')
    .addHelpText('after', HELP)
    .action((options: { json?: true }) => migrate(context, options));
}

async function migrate(context: CommandContext, { json }: { json?: true }): Promise<void> {
  const config = await loadConfig(context);
  const report = await migrateStore(config).catch((error: unknown) => {
    throw asFailure(error, config);
  });
  for (const sentence of report.warnings ?? []) await writeLine(context.stderr, `leadtap: ${sentence}`);
  if (json) return writeJson(context.stdout, report);
  const { from, to, applied } = report;
  if (applied.length === 0)
    return writeLine(context.stdout, `The schema is up to date, at version ${to}. Nothing was done.`);
  for (const name of applied) await writeLine(context.stdout, `applied ${name}`);
  await writeLine(context.stdout, `The schema went from version ${from} to version ${to}.`);
}
