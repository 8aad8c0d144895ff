/** The two ends of a move. What goes wrong at one of them is told as a failure of that one. */
import { type Database, describeDatabase } from '../../config.ts';
import { openMoveSource, openMoveTarget } from '../../open-store.ts';
import {
  type MoveSource,
  type MoveTarget,
  RowsRefusedError,
  SourceInUseError,
} from '../../store/move/port.ts';
import { databaseFailure } from '../database-failure.ts';
import { Failure } from '../failure.ts';
import type { AddressFlags, MoveAddresses } from './addresses.ts';

/** Opens both databases, lends them, and always closes them. */
export async function withEnds<T>(
  { from, to }: MoveAddresses,
  flags: AddressFlags,
  use: (source: MoveSource, target: MoveTarget) => Promise<T>,
): Promise<T> {
  const blameSource = (error: unknown): never => {
    throw blame(error, from, flags.from === undefined ? undefined : '--from');
  };
  const source = await openMoveSource(from).catch(blameSource);
  try {
    const target = await openMoveTarget(to);
    try {
      return await use(blaming(source, blameSource), target);
    } finally {
      await target.close();
    }
  } catch (error) {
    throw blame(error, to, flags.to === undefined ? undefined : '--to');
  } finally {
    await source.close();
  }
}

/** As a failure that a person can mend; everything else stays itself. */
const blame = (error: unknown, database: Database, flag: string | undefined): unknown =>
  failureOf(error, database, flag)?.causedBy(error) ?? error;

function failureOf(error: unknown, database: Database, flag: string | undefined): Failure | undefined {
  if (error instanceof SourceInUseError)
    return new Failure(
      'unavailable',
      `${error.message} (${describeDatabase(database)})`,
      'Stop the service, and every command that uses the database. Then run this again.',
    );
  if (error instanceof RowsRefusedError)
    return new Failure(
      'conflict',
      error.message,
      'Nothing else may write to the target during a move. The same command goes on where this one ended.',
    );
  const failure = databaseFailure(error, database);
  if (failure === undefined || flag === undefined) return failure;
  // They speak of where an address usually stands.
  const mends = failure.mend.map((mend) => mend.replaceAll('LEADTAP_DATABASE_URL', flag));
  return new Failure(failure.kind, failure.message, ...mends);
}

/** The same source, whose errors are not mistaken for those of the target. */
const blaming = (source: MoveSource, blameSource: (error: unknown) => never): MoveSource => ({
  count: (table) => source.count(table).catch(blameSource),
  async *pages(table, after) {
    try {
      yield* source.pages(table, after);
    } catch (error) {
      blameSource(error);
    }
  },
  find: (table, row) => source.find(table, row).catch(blameSource),
  lastStamps: () => source.lastStamps().catch(blameSource),
  close: () => source.close(),
});
