import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Config, type ConfigFlags, ConfigProblems, describeProblem, parseConfig } from '../config.ts';
import { openStore } from '../open-store.ts';
import type { Store } from '../store/store.ts';
import { systemCode } from '../system-error.ts';
import type { CommandContext } from './context.ts';
import { Failure } from './failure.ts';
import { asFailure } from './known-errors.ts';

/** Opens the store that the configuration names, lends it, and always closes it. */
export type WithStore = <T>(use: (store: Store, config: Config) => Promise<T>) => Promise<T>;

export interface WithStoreOptions {
  /** Make the database if there is none. A command in the wrong folder must not begin a new installation there. */
  readonly create: boolean;
  readonly open?: typeof openStore;
}

export function makeWithStore(
  context: CommandContext,
  { create, open = openStore }: WithStoreOptions,
): WithStore {
  return async (use) => {
    const config = await loadConfig(context);
    try {
      const { clock, storeTimeouts: timeouts = {} } = context;
      const store = await open(config, { clock, create, timeouts });
      try {
        return await use(store, config);
      } finally {
        await store.close();
      }
    } catch (error) {
      throw asFailure(error, config);
    }
  };
}

export async function loadConfig(context: CommandContext, flags?: ConfigFlags): Promise<Config> {
  const { env, cwd } = context;
  const dotenv = await readDotenv(join(cwd, '.env'));
  try {
    return parseConfig({ env, dotenv, flags, cwd });
  } catch (error) {
    if (!(error instanceof ConfigProblems)) throw error;
    const count = error.problems.length === 1 ? 'a problem' : `${error.problems.length} problems`;
    throw new Failure(
      'configuration',
      `the configuration has ${count}`,
      ...error.problems.map(describeProblem),
    );
  }
}

/** Most installations have none. */
async function readDotenv(file: string): Promise<string | undefined> {
  const bytes = await readFile(file).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw new Failure('configuration', `${file} cannot be read`, 'Make it readable, or remove it.').causedBy(
      error,
    );
  });
  // Text has no NUL, and UTF-16 has one in each ASCII character: read as UTF-8, every line of it would be ignored.
  if (bytes?.includes(0)) throw new Failure('configuration', `${file} is UTF-16: save it as UTF-8`);
  return bytes?.toString('utf8');
}
