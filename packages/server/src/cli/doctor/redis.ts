import { type Config, describeRedis } from '../../config.ts';
import { reasonOf } from '../../system-error.ts';
import { type Finding, ok, warning } from './finding.ts';

const LIMITS = 'rate limits';

/** Where the requests of a user are counted. With SQLite and no Redis there is one instance, and nothing to say. */
export async function checkRedis({ redisUrl, database }: Config): Promise<readonly Finding[]> {
  if (redisUrl !== undefined) return [await visit(redisUrl)];
  if (database.kind === 'sqlite') return [];
  return [ok(LIMITS, 'each instance counts by itself; several need LEADTAP_REDIS_URL')];
}

async function visit(url: string): Promise<Finding> {
  const place = describeRedis(url);
  try {
    // Loaded when it is needed: the driver of Redis takes longer to load than all the rest.
    const { probeRedis } = await import('../../limits/redis/connection.ts');
    const { version } = await probeRedis(url);
    return ok(LIMITS, `counted together in ${place}, version ${version}`);
  } catch (error) {
    return warning(
      LIMITS,
      reasonOf(error, place),
      'Start Redis, or correct LEADTAP_REDIS_URL. Until then each instance counts by itself.',
    );
  }
}
