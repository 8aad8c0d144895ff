/** What every command gets: the outside world, the configuration and the store. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import {
  type Config,
  ConfigError,
  type ConfigFlags,
  describeProblem,
  parseConfig,
  serviceUrl,
} from '../config.ts';
import type { Clock } from '../lib/clock.ts';
import { plural } from '../lib/formats.ts';
import { systemCode } from '../lib/system-error.ts';
import { COMMAND_TIMEOUTS, openStore, type StoreTimeouts } from '../open-store.ts';
import type { MigrationReport, Store } from '../store/store.ts';
import { exitCodeOf, Failure } from './exit.ts';
import type { Output } from './output.ts';

/** Everything of the outside world that a command uses, so that tests can run commands in their own process. */
export interface CommandContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Relative paths and `.env` start here. */
  readonly cwd: string;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Output;
  readonly stderr: Output;
  readonly clock: Clock;
  /** How the person started this program. Default: `leadtap`. */
  readonly invocation?: string;
  /** Aborts when the user or the system asks the command to stop. */
  readonly signal: AbortSignal;
  /** Of this machine. Default: as the system has it. */
  readonly timeZone?: string;
  readonly openStore?: typeof openStore;
  readonly storeTimeouts?: StoreTimeouts;
}

export interface WithStoreOptions {
  /** Create the database if there is none. By default a command in the wrong folder must not start a new installation. */
  readonly create?: boolean;
}

/** Opens the store of the configuration, passes it to `use`, and always closes it. */
export async function withStore<T>(
  context: CommandContext,
  use: (store: Store, config: Config) => Promise<T>,
  { create = false }: WithStoreOptions = {},
): Promise<T> {
  const { clock, signal, openStore: open = openStore, storeTimeouts, stderr } = context;
  const config = await loadConfig(context);
  try {
    const timeouts = { ...COMMAND_TIMEOUTS, ...storeTimeouts };
    const onMigrated = ({ from, to }: MigrationReport) => {
      if (from > 0)
        stderr.write(`leadtap: the schema of the database was updated from version ${from} to ${to}\n`);
    };
    const store = await open(config, { clock, create, timeouts, signal, onMigrated }).catch(
      (error: unknown) => {
        throw signal.aborted ? exitCodeOf(signal) : error;
      },
    );
    try {
      return await use(store, config);
    } finally {
      await store.close();
    }
  } catch (error) {
    // Loaded only here, with all that it explains.
    throw (await import('./failure.ts')).asFailure(error, config);
  }
}

export async function loadConfig(context: CommandContext, flags?: ConfigFlags): Promise<Config> {
  const { env, cwd } = context;
  const dotenv = await readDotenv(join(cwd, '.env'));
  try {
    return parseConfig({ env, dotenv, flags, cwd });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const count = plural(error.problems.length, 'problem');
    const problems = error.problems.map(describeProblem);
    throw new Failure('configuration', `the configuration has ${count}`, ...problems);
  }
}

/** The `{base_url}` of a service that runs in another process. */
export function knownServiceUrl(config: Config): string {
  if (config.publicUrl === undefined && config.port === 0)
    throw new Failure('configuration', 'LEADTAP_PORT is 0', 'Set it to the port of the service.');
  return serviceUrl(config);
}

/** Undefined if there is no such file. */
async function readDotenv(file: string): Promise<string | undefined> {
  const bytes = await readFile(file).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return undefined;
    const failure = new Failure('configuration', `${file} cannot be read`, 'Make it readable, or remove it.');
    throw failure.causedBy(error);
  });
  // UTF-16 has a NUL byte in each ASCII character. Read as UTF-8, every line of it would be ignored.
  if (bytes?.includes(0)) throw new Failure('configuration', `${file} is UTF-16: save it as UTF-8`);
  return bytes?.toString('utf8');
}
