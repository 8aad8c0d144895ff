/** The two ends of a move. What goes wrong at one of them is told as a failure of that one. */
import { type Database, describeDatabase } from '../../config.ts';
import { openMoveSource, openMoveTarget } from '../../open-store.ts';
import {
  type MoveSource,
  type MoveTarget,
  RowsRefusedError,
  SourceError,
  SourceInUseError,
} from '../../store/transfer/port.ts';

import { databaseFailure, Failure } from '../failure.ts';
import type { AddressFlags, MoveAddresses } from './addresses.ts';

/** Opens both databases, lends them, and always closes them. */
export async function withEnds<T>(
  addresses: MoveAddresses,
  flags: AddressFlags,
  use: (source: MoveSource, target: MoveTarget) => Promise<T>,
): Promise<T> {
  const { from, to } = addresses;
  try {
    return await lendEnds(addresses, use);
  } catch (error) {
    if (error instanceof SourceError) throw blame(error.cause, from, flags.from && '--from');
    throw blame(error, to, flags.to && '--to');
  }
}

async function lendEnds<T>(
  { from, to }: MoveAddresses,
  use: (source: MoveSource, target: MoveTarget) => Promise<T>,
): Promise<T> {
  const source = await openMoveSource(from);
  try {
    const target = await openMoveTarget(to);
    try {
      return await use(source, target);
    } finally {
      await target.close();
    }
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
  return databaseFailure(error, database, flag);
}
