/** What the operator reads after a move: the result and the next steps, or why the database was not moved. */
import { existsSync } from 'node:fs';
import { type Config, type Database, defaultKeyFile, describeDatabase } from '../../config.ts';
import { plural } from '../../lib/formats.ts';
import type { Difference, MoveOutcome, UnsupportedValue } from '../../store/transfer/transfer.ts';
import type { CommandContext } from '../context.ts';
import { Failure } from '../exit.ts';
import { writeJson, writeLine } from '../output.ts';

type Outcome<Kind extends MoveOutcome['kind']> = Extract<MoveOutcome, { kind: Kind }>;

interface MoveDatabases {
  readonly from: Database;
  readonly to: Database;
}

export interface ReportOptions extends MoveDatabases {
  readonly context: CommandContext;
  readonly config: Config;
  readonly json: boolean;
}

/** The result goes to stdout, the next steps to stderr. */
export async function reportMove({ rows }: Outcome<'moved'>, options: ReportOptions): Promise<void> {
  const { context, from, to } = options;
  const counts = Object.entries(rows).map(([table, count]) => `${table.replace('_', ' ')} ${count}`);
  if (options.json)
    await writeJson(context.stdout, {
      from: describeDatabase(from),
      to: describeDatabase(to),
      verified: true,
      rows,
    });
  else await writeLine(context.stdout, `moved and verified: ${counts.join(', ')}`);
  for (const sentence of nextSteps(options)) await writeLine(context.stderr, sentence);
}

function nextSteps(options: ReportOptions): string[] {
  const from = describeDatabase(options.from);
  return [
    describeKey(options),
    `Start the service with the LEADTAP_DATABASE_URL of ${describeDatabase(options.to)}, and use it for all commands.`,
    `No lead, user or token was changed in ${from}. Leads that are written to it from now on are not delivered.`,
  ];
}

/** The key that signs tokens is not in the database. */
function describeKey({ config, context: { cwd }, from, to }: ReportOptions): string {
  const key = config.signingKey;
  if ('secrets' in key) return 'Tokens stay valid if the service keeps its LEADTAP_SIGNING_KEY.';
  const [before, after] = [defaultKeyFile(from, cwd), defaultKeyFile(to, cwd)];
  if (key.file !== before && key.file !== after)
    return `Tokens stay valid if the service keeps its signing key, ${key.file} (LEADTAP_SIGNING_KEY_FILE).`;
  if (!existsSync(before))
    return `There is no signing key at ${before}. Copy the key of the service to ${after}: without it, its tokens are invalid.`;
  if (before === after)
    return `Tokens stay valid: the service finds its signing key where it was, ${before}.`;
  return `Tokens stay valid if the service keeps its signing key, ${before}: copy it to ${after}, or set LEADTAP_SIGNING_KEY_FILE.`;
}

/** Why the database was not moved, and what to do about it. */
export function failureOfOutcome(
  outcome: Exclude<MoveOutcome, { kind: 'moved' }>,
  { from, to }: MoveDatabases,
): Failure {
  const target = describeDatabase(to);
  const startAgain = `To start again, run DROP SCHEMA leadtap CASCADE in ${target} if its data is not needed, then run this command again.`;
  switch (outcome.kind) {
    case 'unsupported': {
      const { total, first } = outcome;
      return new Failure(
        'bad-input',
        `PostgreSQL cannot store ${plural(total, 'value')} of this database; nothing was copied`,
        ...listFirst(first, total),
        'Fix these leads with `leadtap leads import`, which updates them by their id.',
      );
    }
    case 'foreign-target':
      return new Failure(
        'conflict',
        `${target} holds data that ${describeDatabase(from)} does not; nothing was copied`,
        `${outcome.table} ${JSON.stringify(outcome.row)} is missing or different there.`,
        'Name an empty database, or one that an earlier run of this command has started to fill.',
        startAgain,
      );
    case 'different':
      return new Failure(
        'conflict',
        'the copy differs from its source, in which no lead, user or token was changed',
        describeDifference(outcome.difference),
        startAgain,
      );
  }
}

function listFirst(first: readonly UnsupportedValue[], total: number): string[] {
  const more = total - first.length;
  return [...first.map(describeUnsupported), ...(more > 0 ? [`and ${more} more`] : [])];
}

const REASONS: Record<UnsupportedValue['reason'], string> = {
  characters: 'holds a NUL or half a character',
  time: 'is before the year 0 or after 9999',
};

/** As JSON, so that control characters in the data do not reach the terminal. */
const describeUnsupported = ({ table, row, column, reason }: UnsupportedValue): string =>
  `${table} ${JSON.stringify(row)}: ${column} ${REASONS[reason]}`;

const describeDifference = ({ table, sourceRows, targetRows }: Difference): string =>
  `${table}: ${sourceRows} rows in the source, ${targetRows} in the target, with other values or other rows`;
