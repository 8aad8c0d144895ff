/** Checks the database without creating or migrating it. */
import { access, constants, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { StatusJson } from '@leadtap/contract';
import { type Config, describeDatabase } from '../../config.ts';
import { nearestExisting } from '../../lib/nearest-existing.ts';
import { reasonOf } from '../../lib/system-error.ts';
import { engineOf } from '../../open-store.ts';
import type { StatusReport } from '../../status/report.ts';
import type { ServerFacts } from '../../store/store.ts';
import type { CommandContext } from '../context.ts';
import { Failure } from '../exit.ts';
import { asFailure } from '../failure.ts';
import { readReport } from './diagnosis.ts';
import { type Finding, failed, ok, warning } from './finding.ts';

type Env = CommandContext['env'];

export interface DatabaseReport {
  readonly findings: readonly Finding[];
  /** Several instances can use the database. Then they need the same key and a shared Redis. */
  readonly isShared: boolean;
  /** The diagnosis. Undefined if the database cannot be read. */
  readonly report?: StatusReport | undefined;
  readonly server?: ServerFacts | undefined;
}

export async function checkDatabase(
  config: Config,
  context: CommandContext,
  instance: StatusJson | undefined,
): Promise<DatabaseReport> {
  const { file, server } = engineOf(config.database);
  const before = file === undefined ? [] : [await checkDataFolder(file)];
  const { findings, ...facts } = await inspect(config, context, instance).catch((error: unknown) => ({
    findings: [toFinding(error, config)],
  }));
  const after = server ? checkEncryption(server.url, context.env) : [];
  return {
    isShared: server !== undefined,
    ...facts,
    findings: [...before, ...findings, ...after],
  };
}

async function inspect(
  config: Config,
  context: CommandContext,
  instance: StatusJson | undefined,
): Promise<Pick<DatabaseReport, 'findings' | 'server' | 'report'>> {
  const place = describeDatabase(config.database);
  const engine = engineOf(config.database);
  const { exists, schemaVersion, expectedVersion, faults, server } = await engine.inspect(
    context.clock,
    context.signal,
  );
  if (faults.length > 0)
    return { findings: [failed('database', `${place} is damaged`, ...faults, 'Restore a backup.')] };
  const serverFindings = server ? [checkServerSettings(server)] : [];
  // An empty file, or one without the tables of Leadtap, is no database for the commands either.
  if (!exists || schemaVersion === 0)
    return { findings: [missingDatabase(engine.missing.message, config), ...serverFindings], server };
  const rest = [checkSchema(schemaVersion, expectedVersion, config.autoMigrate), ...serverFindings];
  if (schemaVersion !== expectedVersion) return { findings: [ok('database', place), ...rest], server };
  const report = await readReport(config, context, instance);
  return { findings: [ok('database', `${report.database.engine}, ${place}`), ...rest], server, report };
}

const missingDatabase = (detail: string, { autoMigrate }: Config): Finding =>
  autoMigrate
    ? warning('database', detail, '`leadtap migrate`, `leadtap org apply` and `leadtap serve` create it.')
    : failed('database', detail, 'Run `leadtap migrate`.');

function checkSchema(found: number, expected: number, autoMigrate: boolean): Finding {
  if (found === expected) return ok('schema', `version ${found}`);
  const detail = `version ${found}, this program needs version ${expected}`;
  if (found > expected)
    return failed(
      'schema',
      detail,
      'Update this Leadtap: a newer one has updated the database. Or restore the backup that was made before.',
    );
  return autoMigrate
    ? warning('schema', detail, 'The next command updates it. To update it now, run `leadtap migrate`.')
    : failed('schema', detail, 'Run `leadtap migrate`.');
}

function toFinding(error: unknown, config: Config): Finding {
  const failure = asFailure(error, config);
  if (failure instanceof Failure) return failed('database', failure.message, ...failure.fix);
  return failed('database', reasonOf(error), 'Check LEADTAP_DATABASE_URL.');
}

const MEBIBYTE = 1024 * 1024;
/** SQLite's write-ahead log alone grows by a few MiB between two checkpoints. */
const MIN_FREE_BYTES = 16 * MEBIBYTE;

/** Returns the free space of a disk. Tests pass their own. */
export type ReadDisk = (path: string) => Promise<{ bavail: number; bsize: number }>;

export async function checkDataFolder(file: string, readDisk: ReadDisk = statfs): Promise<Finding> {
  const check = 'data folder';
  const folder = dirname(file);
  const { path, isFolder } = nearestExisting(folder);
  if (!isFolder) return failed(check, `${path} is not a folder`, 'Correct LEADTAP_DATABASE_URL.');
  if (!(await isWritable(path)))
    return failed(check, `${path} is not writable`, `Allow this user to write to ${path}.`);
  const { bavail, bsize } = await readDisk(path);
  const freeBytes = bavail * bsize;
  const fix = `Free some space on the disk of ${path}, or move the database to a larger disk.`;
  const detail = `${Math.floor(freeBytes / MEBIBYTE)} MiB are free on the disk of ${path}`;
  if (freeBytes < MIN_FREE_BYTES) return failed(check, `${detail}: it is full`, fix);
  return path === folder
    ? ok(check, `${folder} is writable`)
    : warning(check, `${folder} does not exist yet`, '`leadtap serve` and `leadtap org apply` create it.');
}

export const isWritable = (path: string): Promise<boolean> =>
  access(path, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );

/** The settings that the delivery contract needs. */
export function checkServerSettings({ isStandby, isDurable, isolation, encoding }: ServerFacts): Finding {
  const check = 'database server';
  if (isStandby)
    return failed(
      check,
      'it is a standby, which cannot store leads and does not have all of them',
      'Name the primary in LEADTAP_DATABASE_URL.',
    );
  if (encoding !== 'UTF8')
    return failed(
      check,
      `the encoding of the database is ${encoding}, which cannot store every name`,
      'Create another database: createdb --encoding=UTF8 --template=template0 NAME',
    );
  if (isolation !== 'read committed')
    return failed(
      check,
      `its default isolation level is ${isolation}, in which a poll would miss the latest leads`,
      "Run: ALTER ROLE … SET default_transaction_isolation = 'read committed'",
    );
  if (!isDurable)
    return warning(
      check,
      'a crash may lose leads that were acknowledged',
      'Set fsync = on and synchronous_commit = on in PostgreSQL. Roles and databases can have a value of their own: \\drds in psql shows it.',
    );
  return ok(check, `${isolation}, durable, ${encoding}`);
}

const LOCAL_HOSTS = ['localhost', '127.0.0.1', '[::1]'];

/** No finding for a local connection, or if the operator has chosen an sslmode. */
export function checkEncryption(url: string, env: Env): Finding[] {
  const { hostname, searchParams } = new URL(url);
  const isLocal = LOCAL_HOSTS.includes(hostname) || searchParams.has('host') || /^%2f/i.test(hostname);
  if (isLocal || searchParams.has('sslmode') || env['PGSSLMODE']) return [];
  return [
    warning(
      'encryption',
      `the connection to ${hostname} is not encrypted`,
      'Add ?sslmode=verify-full to LEADTAP_DATABASE_URL. If you trust the network, add ?sslmode=disable.',
    ),
  ];
}
