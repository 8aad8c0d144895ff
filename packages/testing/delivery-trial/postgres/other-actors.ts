/** Small actors for PostgreSQL alone. */
import { type Actor, PLACES } from '../actor.ts';
import { SqlSession } from './session.ts';
import { withClient } from './with-client.ts';

/**
 * Imports of the past: they keep their `created_at`, and move no stamp. They must be older than the clock is set back: a historical
 * lead in the future is rejected.
 */
export const historyWriter = (url: string, companyIds: readonly string[], minAgeMs = 1000): Actor => ({
  name: 'SQL writers of history',
  run: async ({ recorder, random, goesOn, pause }) => {
    const session = new SqlSession({ url, name: 'history', recorder });
    for (let done = 0; goesOn(done); done += 1) {
      const companyId = companyIds[random.below(companyIds.length)] ?? '';
      const ids = Array.from({ length: 1 + random.below(3) }, () => `history-${recorder.next()}`);
      await session.transaction('READ COMMITTED', (transaction) =>
        transaction.insertHistory(companyId, ids, random.pick(...PLACES), minAgeMs + random.below(60_000)),
      );
      await pause(random.below(80));
    }
    await session.close();
  },
});

/** The operator adds a column to the table of leads and drops it again, so that all plans are made anew. */
export const schemaChanger = (url: string): Actor => ({
  name: 'columns added and dropped',
  run: async ({ recorder, goesOn, pause }) => {
    const alter = (change: string) =>
      withClient(url, async (client) => {
        await client.query(`SET lock_timeout = '1s'`);
        await client.query(`ALTER TABLE leadtap.leads ${change}`);
        recorder.count('columns added and dropped');
        recorder.announce();
      }).catch(() => undefined);
    for (let done = 0; goesOn(done); done += 1) {
      await alter('ADD COLUMN IF NOT EXISTS operator_note text');
      await pause(700);
      await alter('DROP COLUMN IF EXISTS operator_note');
      await pause(700);
    }
    await alter('DROP COLUMN IF EXISTS operator_note');
  },
});

/** About half of those to this database. */
export const cutConnections = (url: string): Promise<void> =>
  withClient(url, async (client) => {
    await client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND random() < 0.5`,
    );
  });

/** Ends the connections of the instances, as a failing network or an administrator would. */
export const connectionCutter = (url: string): Actor => ({
  name: 'connections cut',
  run: async ({ recorder, random, goesOn, pause }) => {
    for (let done = 0; goesOn(done); done += 1) {
      await pause(500 + random.below(1000));
      await cutConnections(url).catch(() => undefined);
      recorder.count('connections cut');
      recorder.announce();
    }
  },
});

export interface CrashingServer {
  restart(mode: 'immediate'): Promise<void>;
}

/** Crashes the server as a power cut would, and starts it again. */
export const serverCrasher = (server: CrashingServer): Actor => ({
  name: 'server crashes',
  run: async ({ recorder, random, goesOn, pause }) => {
    for (let done = 0; goesOn(done); done += 1) {
      await pause(2500 + random.below(2000));
      await server.restart('immediate');
      recorder.count('server crashes');
      recorder.announce();
    }
  },
});
