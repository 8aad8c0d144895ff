import type { CommandContext } from '../context.ts';
import { Failure } from '../failure.ts';
import { loadConfig } from '../with-store.ts';
import { checkClock } from './clock.ts';
import { checkDatabase } from './database.ts';
import { checkDataFolder, checkSigningKey } from './files.ts';
import { type Finding, failed, ok } from './finding.ts';
import { checkJwks, checkMetricsPort, checkPort } from './network.ts';
import { checkRedis } from './redis.ts';
import { checkEncryption } from './server.ts';

export const CONFIGURATION = 'configuration';

/** One check after another. Nothing is made, migrated or changed. */
export async function* examine(context: CommandContext, nodeVersion: string): AsyncGenerator<Finding> {
  // Nothing to check: a Node.js that is too old does not come this far.
  yield ok('Node.js', nodeVersion);
  const config = await loadConfig(context).catch(asFinding);
  if ('check' in config) return yield config;
  yield ok(CONFIGURATION, 'every variable is understood');
  const { database } = config;
  if (database.kind === 'sqlite') yield await checkDataFolder(database);
  const { findings, status, server } = await checkDatabase(config, context.clock);
  yield* findings;
  if (database.kind === 'postgres') yield* checkEncryption(database, context.env);
  yield* await checkRedis(config);
  yield await checkSigningKey(config, context.cwd);
  if (config.externalTokens) yield await checkJwks(config.externalTokens);
  yield checkClock(context.clock(), status?.latestStamp ?? 0, server);
  yield await checkPort(config);
  yield await checkMetricsPort(config);
}

function asFinding(error: unknown): Finding {
  if (error instanceof Failure) return failed(CONFIGURATION, error.message, ...error.fix);
  throw error;
}
