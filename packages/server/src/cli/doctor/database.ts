import type { Clock } from '../../clock.ts';
import { type Config, describeDatabase } from '../../config.ts';
import { inspectStore, openStore } from '../../open-store.ts';
import type { ServerFacts, StoreStatus } from '../../store/store.ts';
import { reasonOf } from '../../system-error.ts';
import { Failure } from '../failure.ts';
import { asFailure } from '../known-errors.ts';
import { type Finding, failed, ok, warning } from './finding.ts';
import { checkRoles, checkServer } from './server.ts';

const DATABASE = 'database';
const SCHEMA = 'schema';
const MADE_LATER = '`leadtap migrate`, `leadtap org apply` and `leadtap serve` make it.';

export interface DatabaseVisit {
  readonly findings: readonly Finding[];
  /** There when the database can be used. */
  readonly status?: StoreStatus;
  readonly server?: ServerFacts | undefined;
}

/** Checks the database without making or migrating it. */
export async function checkDatabase(config: Config, clock: Clock): Promise<DatabaseVisit> {
  try {
    return await visit(config, clock);
  } catch (error) {
    return { findings: [explain(error, config)] };
  }
}

async function visit(config: Config, clock: Clock): Promise<DatabaseVisit> {
  const place = describeDatabase(config.database);
  const { exists, schemaVersion, expectedVersion, faults, server } = await inspectStore(config, clock);
  if (faults.length > 0)
    return { findings: [failed(DATABASE, `${place} is damaged`, ...faults, 'Put a backup in its place.')] };
  // A file that is empty, or holds no tables of Leadtap, is no database for the commands either.
  if (!exists || schemaVersion === 0)
    return { findings: [missing(config, place, exists), ...ofServer(server, config)], server };
  const schema = checkSchema(schemaVersion, expectedVersion, config.autoMigrate);
  const rest = [schema, ...ofServer(server, config), ...(server ? [checkRoles(server)] : [])];
  if (schemaVersion !== expectedVersion) return { findings: [ok(DATABASE, place), ...rest], server };
  const status = await readStatus(config, clock);
  return { findings: [ok(DATABASE, `${status.engine}, ${place}`), ...rest], server, status };
}

function missing({ database, autoMigrate }: Config, place: string, isFileThere: boolean): Finding {
  const noFile = isFileThere ? `there is no Leadtap database at ${place}` : `${place} does not exist yet`;
  const detail = database.kind === 'sqlite' ? noFile : `there is no schema leadtap in ${place} yet`;
  return autoMigrate
    ? warning(DATABASE, detail, MADE_LATER)
    : failed(DATABASE, detail, 'Run `leadtap migrate`.');
}

const ofServer = (server: ServerFacts | undefined, { database }: Config): readonly Finding[] =>
  server && database.kind === 'postgres' ? checkServer(server, database) : [];

function checkSchema(found: number, expected: number, autoMigrate: boolean): Finding {
  if (found === expected) return ok(SCHEMA, `version ${found}`);
  const detail = `version ${found}, this program needs version ${expected}`;
  if (found > expected)
    return failed(SCHEMA, detail, 'Update this Leadtap: the database was made by a newer one.');
  return autoMigrate
    ? warning(SCHEMA, detail, 'The next command brings it up to date; `leadtap migrate` does so now.')
    : failed(SCHEMA, detail, 'Run `leadtap migrate`.');
}

async function readStatus(config: Config, clock: Clock): Promise<StoreStatus> {
  const store = await openStore({ ...config, autoMigrate: false }, { clock });
  try {
    return await store.status();
  } finally {
    await store.close();
  }
}

function explain(error: unknown, config: Config): Finding {
  const failure = asFailure(error, config);
  if (failure instanceof Failure) return failed(DATABASE, failure.message, ...failure.fix);
  return failed(DATABASE, reasonOf(error), 'Check LEADTAP_DATABASE_URL.');
}
