import type { CommandContext } from '../context.ts';
import { Failure } from '../failure.ts';
import { loadConfig } from '../with-store.ts';
import { checkClock } from './clock.ts';
import { checkDatabase } from './database.ts';
import { checkDataFolder, checkSigningKey } from './files.ts';
import { type Finding, failed, ok } from './finding.ts';
import { checkJwks, checkPort } from './network.ts';

const CONFIGURATION = 'configuration';

/** One check after another. Nothing is made, migrated or changed. */
export async function* examine(context: CommandContext, nodeVersion: string): AsyncGenerator<Finding> {
  // Nothing to check: a Node.js that is too old does not come this far.
  yield ok('Node.js', nodeVersion);
  const config = await loadConfig(context).catch(asFinding);
  if ('check' in config) return yield config;
  yield ok(CONFIGURATION, 'every variable is understood');
  yield await checkDataFolder(config);
  const { findings, status } = await checkDatabase(config, context.clock);
  yield* findings;
  yield await checkSigningKey(config);
  if (config.externalTokens) yield await checkJwks(config.externalTokens);
  yield checkClock(context.clock(), status?.latestStamp ?? 0);
  yield await checkPort(config);
}

function asFinding(error: unknown): Finding {
  if (error instanceof Failure) return failed(CONFIGURATION, error.message, ...error.mend);
  throw error;
}
