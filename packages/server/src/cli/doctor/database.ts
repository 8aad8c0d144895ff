import type { Clock } from '../../clock.ts';
import type { Config } from '../../config.ts';
import { inspectStore, openStore } from '../../open-store.ts';
import type { StoreStatus } from '../../store/store.ts';
import { reasonOf } from '../../system-error.ts';
import { Failure } from '../failure.ts';
import { asFailure } from '../known-errors.ts';
import { type Finding, failed, ok, warning } from './finding.ts';

const DATABASE = 'database';
const SCHEMA = 'schema';
const MADE_LATER = 'The first command that needs it makes it; `leadtap migrate` does so now.';

/** Checks the database without making or migrating it. The status is there when it can be used. */
export async function checkDatabase(
  config: Config,
  clock: Clock,
): Promise<{ readonly findings: readonly Finding[]; readonly status?: StoreStatus }> {
  const { file } = config.database;
  try {
    const { exists, schemaVersion, expectedVersion, faults } = await inspectStore(config);
    if (!exists) return { findings: [warning(DATABASE, `${file} does not exist yet`, MADE_LATER)] };
    if (faults.length > 0)
      return { findings: [failed(DATABASE, `${file} is damaged`, ...faults, 'Put a backup in its place.')] };
    const schema = checkSchema(schemaVersion, expectedVersion, config.autoMigrate);
    if (schemaVersion !== expectedVersion) return { findings: [ok(DATABASE, file), schema] };
    const status = await readStatus(config, clock);
    return { findings: [ok(DATABASE, `${status.engine}, ${file}`), schema], status };
  } catch (error) {
    return { findings: [explain(error, config)] };
  }
}

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
  if (failure instanceof Failure) return failed(DATABASE, failure.message, ...failure.mend);
  return failed(DATABASE, reasonOf(error), 'Check LEADTAP_DATABASE_URL.');
}
