/** `migrate --from … --to …`: opens both databases, copies the one into the other, and shows the progress. */
import { type Config, type Database, describeDatabase, InvalidValueError, VARIABLES } from '../../config.ts';
import { engineOf } from '../../open-store.ts';
import {
  type MoveOutcome,
  type MoveStep,
  move,
  RowsRefusedError,
  SourceError,
  SourceInUseError,
} from '../../store/transfer/transfer.ts';
import { type CommandContext, loadConfig } from '../context.ts';
import { exitCodeOf, Failure } from '../exit.ts';
import { databaseFailure } from '../failure.ts';
import { writeLine } from '../output.ts';
import { ProgressBar } from '../progress-bar.ts';
import { failureOfOutcome, reportMove } from './report.ts';

export interface MoveFlags {
  readonly from?: string;
  readonly to?: string;
  readonly json?: true;
}

export async function moveDatabase(context: CommandContext, flags: MoveFlags): Promise<void> {
  const config = await loadConfig(context);
  const from = readDatabase('--from', flags.from, config, context.cwd);
  const to = readDatabase('--to', flags.to, config, context.cwd);
  const outcome = await runMove(context, flags, from, to);
  if (outcome.kind !== 'moved') throw failureOfOutcome(outcome, { from, to });
  await reportMove(outcome, { context, config, from, to, json: flags.json === true });
}

/** A flag accepts the same values as the variable. The text is not shown, because it may hold a password. */
function readDatabase(flag: string, text: string | undefined, config: Config, cwd: string): Database {
  if (text === undefined) return config.database;
  try {
    // A move needs one connection; SQLite ignores the number.
    const database = { ...VARIABLES.databaseUrl.parse(text.trim(), cwd), connections: 1 };
    return database;
  } catch (error) {
    if (!(error instanceof InvalidValueError)) throw error;
    throw new Failure('usage', `${flag}: ${error.message}`, error.fix);
  }
}

async function runMove(
  context: CommandContext,
  flags: MoveFlags,
  from: Database,
  to: Database,
): Promise<MoveOutcome> {
  const { clock, signal } = context;
  const { openMoveSource } = engineOf(from);
  const { openMoveTarget } = engineOf(to);
  if (!openMoveSource || !openMoveTarget)
    throw new Failure(
      'usage',
      'a move goes from SQLite to PostgreSQL',
      'Give --from sqlite:… and --to postgres://…; the default of both is LEADTAP_DATABASE_URL.',
    );
  const { onProgress, clear } = createProgress(context);
  try {
    const source = await openMoveSource();
    try {
      const target = await openMoveTarget(signal);
      try {
        return await move({ source, target, clock, signal, onProgress });
      } finally {
        await target.close();
      }
    } finally {
      await source.close();
    }
  } catch (error) {
    if (!signal.aborted)
      throw error instanceof SourceError
        ? asFailure(error.cause, from, flags.from && '--from')
        : asFailure(error, to, flags.to && '--to');
    clear();
    await writeLine(context.stderr, 'Interrupted. To continue, run the same command again.');
    throw exitCodeOf(signal);
  } finally {
    clear();
  }
}

/** Errors that the operator cannot fix are returned unchanged. */
const asFailure = (error: unknown, database: Database, flag: string | undefined): unknown =>
  findFailure(error, database, flag)?.causedBy(error) ?? error;

function findFailure(error: unknown, database: Database, flag: string | undefined): Failure | undefined {
  if (error instanceof SourceInUseError)
    return new Failure(
      'unavailable',
      `${error.message} (${describeDatabase(database)})`,
      'Stop the service and every command that uses the database. Then run this command again.',
    );
  if (error instanceof RowsRefusedError)
    return new Failure(
      'conflict',
      error.message,
      'No other program may write to the target during a move. To continue, run the same command again.',
    );
  return databaseFailure(error, database, flag);
}

const UNITS: Record<MoveStep, string> = {
  checking: 'leads checked',
  copying: 'leads copied',
  verifying: 'leads verified',
};

/** One bar for each step, because the steps differ in speed. */
function createProgress({ stderr, clock }: CommandContext) {
  let shown: { readonly step: MoveStep; readonly bar: ProgressBar } | undefined;
  return {
    onProgress(step: MoveStep, count: number, total: number): void {
      if (shown?.step !== step) shown = { step, bar: new ProgressBar(stderr, clock, UNITS[step]) };
      shown.bar.update({ count, ...(total > 0 && { share: Math.min(count / total, 1) }) });
    },
    clear: () => shown?.bar.clear(),
  };
}
