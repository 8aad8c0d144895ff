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
  yield checkNode(nodeVersion);
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

const OLDEST_NODE: readonly [major: number, minor: number] = [20, 19];

export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return ok('Node.js', version);
  return failed(
    'Node.js',
    `${version} is too old`,
    `Install Node.js ${OLDEST_NODE.join('.')} or later; 24 is recommended.`,
  );
}
