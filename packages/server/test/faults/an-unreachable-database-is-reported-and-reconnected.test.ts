import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { spawnLeadtap } from '../../../testing/harness/leadtap-process.ts';
import { ownTcpProxy } from '../../../testing/harness/own-servers.ts';
import { freePort } from '../../../testing/servers/free-port.ts';
import { openPostgresStore } from '../../src/store/postgres/store.ts';
import { terminal } from '../cli/terminal.ts';
import { shareCluster } from './cluster.ts';
import { addLead, expectUnavailable, serve } from './instance.ts';

const server = shareCluster();

it('a database that refuses connections is reported at once, and used again without a restart', async () => {
  const { store, poll, probe, log } = await serve(server().url);
  await addLead(store, 'before');
  await server().stop('fast');
  for (let polls = 0; polls < 5; polls += 1) expectUnavailable(await poll('acme'));
  expectUnavailable(await probe('/readyz'));
  expect(await probe('/livez')).toMatchObject({ status: 200 });
  expect(log.filter(({ level }) => level === 'error').at(-1)?.err?.message).toContain('cannot be reached');

  await server().start();
  expect(await poll('acme')).toMatchObject({ status: 200, leads: [{ id: 'before' }] });
  expect(await probe('/readyz')).toMatchObject({ status: 200 });
});

it('a service that is started while its database is unreachable prints the error, and exits', async () => {
  const url = `postgres://postgres@127.0.0.1:${await freePort()}/postgres`;
  const { code, stderr } = await terminal().run('serve', { env: { LEADTAP_DATABASE_URL: url } });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(/the database cannot be reached .+ECONNREFUSED.+\n +Start PostgreSQL/),
  });
});

/** A poll would not wait that long. */
const RESUMED_AFTER_MS = 4000;

it('a service and a command that are started while their database is being resumed wait for it', async () => {
  onTestFinished(() => server().resume());
  server().pause();
  const env = { LEADTAP_DATABASE_URL: server().url, LEADTAP_PORT: '0', LEADTAP_METRICS_ADDRESS: 'off' };
  const service = spawnLeadtap(['serve'], env);
  const command = spawnLeadtap(['user', 'list'], env);
  await wait(RESUMED_AFTER_MS);
  server().resume();
  expect(await command.ended).toMatchObject({ code: 0, stderr: '' });
  for await (const line of { [Symbol.asyncIterator]: () => service.lines })
    if (JSON.parse(line).msg === 'serving new leads') return;
  expect.fail((await service.ended).stderr);
});

it('a start makes another attempt when a connection gets no answer', async () => {
  const proxy = await ownTcpProxy(Number(new URL(server().url).port));
  const silent = createServer((socket) => socket.on('error', () => undefined).resume());
  silent.listen(0, '127.0.0.1');
  onTestFinished(() => void silent.close());
  await once(silent, 'listening');
  proxy.sendNewConnectionsTo((silent.address() as AddressInfo).port);
  // Two attempts of 5 s.
  const opening = openPostgresStore({ url: proxy.through(server().url), connectLimitMs: 10_001 });
  await once(silent, 'connection');
  // As a load balancer does: the open connection stays with the server that does not answer.
  proxy.sendNewConnectionsTo(Number(new URL(server().url).port));
  const store = await opening;
  await store.close();
});
