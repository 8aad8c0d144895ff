/** One database into another: all rows as they are, and then the proof that they arrived. */
import type { Clock } from '../../clock.ts';
import { Counter, type Difference, differences, type Tallies } from './checksum.ts';
import { copyLeads, copyTable, type ForeignRow, findForeignRow } from './copy.ts';
import { pagesOfStep, type Walk } from './copy-context.ts';
import { type Survey, survey } from './survey.ts';
import { BEFORE_USERS, COMPANIES, PLACES, type Row, type Table, TOKENS, USERS } from './tables.ts';
import { type Listed, toKeepable, type Unkeepable } from './unkeepable.ts';

export interface MoveOptions extends Omit<Walk, 'toTarget'> {
  /** That of the machine on which the source was served. */
  readonly clock: Clock;
  /** Write U+FFFD in place of characters that the target cannot keep. */
  readonly replaceCharacters: boolean;
}

export type MoveOutcome =
  | {
      readonly kind: 'moved';
      readonly tallies: ReadonlyMap<Table, Tallies>;
      readonly replaced: Listed<Unkeepable>;
    }
  /** Nothing was written. */
  | { readonly kind: 'unkeepable'; readonly found: Listed<Unkeepable> }
  /** Nothing was written. */
  | ({ readonly kind: 'foreign-target' } & ForeignRow)
  | { readonly kind: 'different'; readonly differences: readonly Difference[] };

const asItIs = (_table: Table, row: Row): Row => row;

/** May be stopped at any moment and run again. */
export async function move({ clock, replaceCharacters, ...ends }: MoveOptions): Promise<MoveOutcome> {
  const walk = { ...ends, toTarget: replaceCharacters ? toKeepable : asItIs };
  const surveyed = await survey(walk);
  if (surveyed.unkeepable.total > 0) return { kind: 'unkeepable', found: surveyed.unkeepable };
  const foreign = await findForeignRow(walk);
  if (foreign !== undefined) return { kind: 'foreign-target', ...foreign };
  return copyAndVerify(walk, clock, surveyed);
}

/** The users come last, when all else has been verified: before, nobody can poll, so nobody misses a lead. */
async function copyAndVerify(walk: Walk, clock: Clock, { tallies, replaced }: Survey): Promise<MoveOutcome> {
  await copyTable(walk, COMPANIES);
  // Also now: should another program write leads to the target already, they must not come before the old ones.
  await raiseStamps(walk, clock);
  for (const table of [...PLACES, ...TOKENS]) await copyTable(walk, table);
  await copyLeads(walk);
  await raiseStamps(walk, clock);
  const different = await verify(walk, BEFORE_USERS, tallies);
  if (different.length > 0) return { kind: 'different', differences: different };
  await copyTable(walk, USERS);
  const others = await verify(walk, [USERS], tallies);
  if (others.length > 0) return { kind: 'different', differences: others };
  return { kind: 'moved', tallies, replaced };
}

/**
 * New leads must come after every `since` that a client holds: a lead's stamp, or the `Date` of an answer, which is no
 * later than the clock now. The target's own clock may be behind that.
 */
async function raiseStamps({ source, target }: Walk, clock: Clock): Promise<void> {
  const now = clock();
  const stamps = await source.lastStamps();
  await target.raiseStamps(
    stamps.map(({ companyId, stamp }) => ({ companyId, stamp: Math.max(stamp, now) })),
  );
}

/** Reads all rows back from the target, and compares their number and checksum with those of the source. */
async function verify(
  walk: Walk,
  tables: readonly Table[],
  wanted: ReadonlyMap<Table, Tallies>,
): Promise<Difference[]> {
  const found: Difference[] = [];
  for (const table of tables) {
    const counter = new Counter(table);
    for await (const page of pagesOfStep(walk, 'verifying', walk.target, table))
      for (const row of page) counter.add(row);
    found.push(...differences(table, wanted.get(table) ?? new Map(), counter.finish()));
  }
  return found;
}
