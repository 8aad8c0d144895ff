import { connectRedis } from './client.ts';
import { within } from './with-timeout.ts';

const ANSWER_MS = 1000;

/** For the doctor: what Redis or Valkey is there, if it does all that the limits need. Rejects within bounded time. */
export async function probeRedis(url: string): Promise<{ readonly version: string }> {
  const client = await connectRedis(url, new AbortController().signal);
  try {
    // Not among the rights that the limits need, so it may be refused.
    const info = await within(ANSWER_MS, client.info('server')).catch(() => '');
    // Valkey also tells the version of the Redis that it took over from.
    const found = /^valkey_version:(\S+)/m.exec(info) ?? /^redis_version:(\S+)/m.exec(info);
    return { version: found?.[1] ?? 'unknown' };
  } finally {
    client.destroy();
  }
}
