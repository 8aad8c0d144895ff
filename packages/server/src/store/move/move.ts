/** One database into another: all rows as they are, and then the proof that they arrived. */
import type { Clock } from '../../clock.ts';
import { copyLeads, copyTable, type ForeignRow, findForeignRow } from './copy.ts';
import type { Listed } from './listing.ts';
import type { MoveSource } from './port.ts';
import { type Survey, survey } from './survey.ts';
import { BEFORE_USERS, COMPANIES, PLACES, type Table, TOKENS, USERS } from './tables.ts';
import type { Difference, Tallies } from './tally.ts';
import { replaceCharacters, type Unkeepable } from './unkeepable.ts';
import { verify } from './verify.ts';
import type { Walk } from './walk.ts';

export interface MoveOptions extends Walk {
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

/** May be stopped at any moment and run again. */
export async function move(options: MoveOptions): Promise<MoveOutcome> {
  const surveyed = await survey(options, options.replaceCharacters);
  if (surveyed.unkeepable.total > 0) return { kind: 'unkeepable', found: surveyed.unkeepable };
  const source = options.replaceCharacters ? replacing(options.source) : options.source;
  const walk = { ...options, source };
  const foreign = await findForeignRow(walk);
  if (foreign !== undefined) return { kind: 'foreign-target', ...foreign };
  return copyAndVerify(walk, surveyed);
}

/** The users come last, when all else has been verified: before, nobody can poll, so nobody misses a lead. */
async function copyAndVerify(walk: MoveOptions, { tallies, replaced }: Survey): Promise<MoveOutcome> {
  await copyTable(walk, COMPANIES);
  // Also now: should another program write leads to the target already, they must not come before the old ones.
  await raiseStamps(walk);
  for (const table of [...PLACES, ...TOKENS]) await copyTable(walk, table);
  await copyLeads(walk);
  await raiseStamps(walk);
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
async function raiseStamps({ source, target, clock }: MoveOptions): Promise<void> {
  const now = clock();
  const stamps = await source.lastStamps();
  await target.raiseStamps(
    stamps.map(({ companyId, stamp }) => ({ companyId, stamp: Math.max(stamp, now) })),
  );
}

/** The same source, as the target can keep it. */
const replacing = (source: MoveSource): MoveSource => ({
  count: (table) => source.count(table),
  async *pages(table, after) {
    for await (const page of source.pages(table, after))
      yield page.map((row) => replaceCharacters(table, row));
  },
  find: async (table, row) => {
    const found = await source.find(table, row);
    return found && replaceCharacters(table, found);
  },
  lastStamps: () => source.lastStamps(),
  close: () => source.close(),
});
