import {
  type Config,
  InvalidValueError,
  type PostgresDatabase,
  type SqliteDatabase,
  VARIABLES,
} from '../../config.ts';
import { Failure } from '../failure.ts';

export interface AddressFlags {
  readonly from?: string;
  readonly to?: string;
}

/** Where a move begins and ends. */
export interface MoveAddresses {
  readonly from: SqliteDatabase;
  readonly to: PostgresDatabase;
}

/** What a flag leaves out is the database of the configuration. */
export function readAddresses(flags: AddressFlags, { database }: Config, cwd: string): MoveAddresses {
  const from = flags.from === undefined ? database : parse('--from', flags.from, cwd);
  const to = flags.to === undefined ? database : parse('--to', flags.to, cwd);
  if (from.kind === 'sqlite' && to.kind === 'postgres') return { from, to: { ...to, connections: 1 } };
  throw new Failure(
    'usage',
    'a move goes from SQLite to PostgreSQL',
    'Give --from sqlite:… and --to postgres://…; the one that you leave out is that of LEADTAP_DATABASE_URL.',
  );
}

/** Flags take what the setting takes. The text is not shown: it may hold a password. */
function parse(flag: string, text: string, cwd: string) {
  try {
    return VARIABLES.databaseUrl.parse(text.trim(), cwd);
  } catch (error) {
    if (!(error instanceof InvalidValueError)) throw error;
    throw new Failure('usage', `${flag}: ${error.message}`, error.fix);
  }
}
