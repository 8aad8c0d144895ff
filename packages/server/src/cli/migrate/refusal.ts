import { describeDatabase } from '../../config.ts';
import type { Difference, Tally } from '../../store/transfer/checksum.ts';
import type { MoveOutcome } from '../../store/transfer/transfer.ts';
import type { Unkeepable } from '../../store/transfer/unkeepable.ts';
import { Failure } from '../failure.ts';
import type { MoveAddresses } from './addresses.ts';

type Refused = Exclude<MoveOutcome, { kind: 'moved' }>;
type Of<Kind extends Refused['kind']> = Extract<Refused, { kind: Kind }>;

/** Why a database was not moved, and what to do about it. */
export function refusal(outcome: Refused, addresses: MoveAddresses): Failure {
  switch (outcome.kind) {
    case 'unkeepable':
      return unkeepable(outcome);
    case 'foreign-target':
      return foreignTarget(outcome, addresses);
    case 'different':
      return different(outcome, addresses);
  }
}

const REASONS: Record<Unkeepable['reason'], string> = {
  characters: 'holds a NUL or half a character',
  time: 'lies before the year 0 or after 9999',
};

/** As JSON, so that no character of other people reaches the terminal as it is. */
export const describeUnkeepable = ({ table, row, column, reason }: Unkeepable): string =>
  `${table} ${JSON.stringify(row)}: ${column} ${REASONS[reason]}`;

export function listed<T>(first: readonly T[], total: number, describe: (item: T) => string): string[] {
  const more = total - first.length;
  return [...first.map(describe), ...(more > 0 ? [`and ${more} more`] : [])];
}

const unkeepable = ({ found: { total, first } }: Of<'unkeepable'>): Failure =>
  new Failure(
    'bad-input',
    `PostgreSQL cannot keep ${total === 1 ? 'a value' : `${total} values`} of this database; nothing was copied`,
    ...listed(first, total, describeUnkeepable),
    'Mend these leads with `leadtap leads import`, which updates them by their id.',
    'With --replace-characters, U+FFFD is written in place of such characters.',
  );

const startAnew = (to: string): string =>
  `To begin anew, run DROP SCHEMA leadtap CASCADE in ${to}, if nothing there is of use to anybody, and then this again.`;

function foreignTarget({ table, row }: Of<'foreign-target'>, { from, to }: MoveAddresses): Failure {
  const target = describeDatabase(to);
  return new Failure(
    'conflict',
    `${target} holds something that ${describeDatabase(from)} does not; nothing was copied`,
    `${table} ${JSON.stringify(row)} is not there, or is not the same.`,
    'Name an empty database, or one that an earlier run of this command has begun to fill.',
    startAnew(target),
  );
}

const SHOWN = 20;

const describeTally = ({ rows, sha256 }: Tally): string => `${rows} (sha256 ${sha256})`;

const describeDifference = ({ table, companyId, source, target }: Difference): string =>
  [
    companyId === undefined ? table : `${table} of company ${JSON.stringify(companyId)}`,
    `: ${describeTally(source)} in the source, ${describeTally(target)} in the target`,
  ].join('');

function different({ differences }: Of<'different'>, { to }: MoveAddresses): Failure {
  const shown = differences.slice(0, SHOWN);
  return new Failure(
    'conflict',
    'the copy differs from its source, in which no lead, user or token was changed',
    ...listed(shown, differences.length, describeDifference),
    startAnew(describeDatabase(to)),
  );
}
