import process from 'node:process';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { LONG_STORE_TIMEOUTS } from '../../../testing/harness/timeouts.ts';
import { openPostgresStore } from '../../src/store/postgres/store.ts';
import { terminal } from '../cli/terminal.ts';
import { shareCluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { type Instance, serve } from './instance.ts';
import { Pollers, Writers } from './load.ts';
import { connect, connectionsOf } from './sql.ts';

const server = shareCluster();

const KILLS = 2;
/** Of the service. */
const CONNECTIONS = 4;
/** What must be written and polled between two kills. */
const WORK = 8;

/** What would end the process, or shorten its life. */
function collectStrayErrors(): unknown[] {
  const errors: unknown[] = [];
  const collect = (error: unknown) => void errors.push(error);
  for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
    process.on(event, collect);
    onTestFinished(() => void process.off(event, collect));
  }
  return errors;
}

/** `leadtap leads import -`, fed with one line after the other until it is stopped. */
function startImport(url: string) {
  const given: string[] = [];
  let isStopping = false;
  async function* lines() {
    while (!isStopping) {
      const id = `import-${given.length}`;
      given.push(id);
      yield `${JSON.stringify({ companyId: 'acme', id, phone1: '1' })}\n`;
      await pause(5);
    }
  }
  const ended = terminal().run('leads import - --format ndjson', {
    env: { LEADTAP_DATABASE_URL: url },
    parts: { stdin: Readable.from(lines()), clock: Date.now },
  });
  const stop = async () => {
    isStopping = true;
    return { ...(await ended), given };
  };
  return { given, stop };
}

async function untilPollSucceeds(service: Instance): Promise<void> {
  while ((await service.poll('globex')).status !== 200) await pause(10);
}

it(`killed ${KILLS} times under load, the database is found again, and nothing acknowledged is lost`, async () => {
  const strayErrors = collectStrayErrors();
  const service = await serve(server().url, { connections: CONNECTIONS });
  const store = await openPostgresStore({ url: server().url, connections: 2, ...LONG_STORE_TIMEOUTS });
  const writers = new Writers(store, server().url);
  const pollers = new Pollers(service);
  const importing = startImport(server().url);
  // It has opened the database: one that cannot be opened ends it.
  await eventually(() => expect(importing.given).not.toEqual([]));

  for (let kill = 0; kill < KILLS; kill += 1) {
    const written = writers.acknowledged.size;
    const answered = pollers.answered;
    await eventually(() => {
      expect(writers.acknowledged.size - written).toBeGreaterThanOrEqual(WORK);
      expect(pollers.answered - answered).toBeGreaterThanOrEqual(WORK);
    });
    await server().stop('immediate');
    const refused = pollers.refused;
    await eventually(() => expect(pollers.refused).toBeGreaterThan(refused));
    expect((await service.probe('/readyz')).status).toBe(503);
    expect((await service.probe('/livez')).status).toBe(200);
    await server().start();
    await untilPollSucceeds(service);
  }

  writers.stop();
  await writers.stopped;
  const { code, stdout, given } = await importing.stop();
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${given.length} added, 0 updated, 0 rejected\n` });
  await pollers.stop();

  const acknowledged = [...writers.acknowledged, ...given];
  const observer = await connect(server().url);
  const { rows } = await observer.query<{ id: string }>('SELECT id FROM leadtap.leads');
  const there = new Set(rows.map(({ id }) => id));
  expect(acknowledged.filter((id) => !there.has(id))).toEqual([]);
  expect(pollers.lastLead.lost(acknowledged)).toEqual([]);
  expect(pollers.date.lost(acknowledged)).toEqual([]);
  expect(pollers.lastLead.repeated).toEqual(new Set());

  await store.close();
  await eventually(async () => {
    const connections = await connectionsOf(observer);
    expect(connections.filter(({ state }) => state !== 'idle')).toEqual([]);
    expect(connections.length).toBeLessThanOrEqual(CONNECTIONS);
  });
  await service.stop();
  await eventually(async () => expect(await connectionsOf(observer)).toEqual([]));
  expect(strayErrors).toEqual([]);
});
