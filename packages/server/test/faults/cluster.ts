import { beforeAll } from 'vitest';
import { type PostgresServer, startPostgres } from '../../../testing/servers/postgres.ts';

/** What a killed process has given to the system is safe there; only a power cut would need more. */
const WITHOUT_SYNC = { fsync: 'off' };

/** A cluster for the tests of a file, which may do with it what they like. */
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
