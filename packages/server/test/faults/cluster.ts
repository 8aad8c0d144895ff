import { beforeAll } from 'vitest';
import { type PostgresServer, startPostgres } from '../../../testing/servers/postgres.ts';

/** Writes of a killed process are safe in the kernel; only a power cut would need fsync. */
const WITHOUT_SYNC = { fsync: 'off' };

/** A cluster for the tests of one file, which may break it. */
export function shareCluster(settings: Readonly<Record<string, string | number>> = {}): () => PostgresServer {
  let server: PostgresServer | undefined;
  beforeAll(async () => {
    const started = await startPostgres({ settings: { ...WITHOUT_SYNC, ...settings } });
    server = started;
    return () => started.remove();
  });
  return () => {
    if (!server) throw new Error('the cluster is there only while tests run');
    return server;
  };
}
