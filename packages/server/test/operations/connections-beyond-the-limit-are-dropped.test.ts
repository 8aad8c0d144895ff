import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { connectionLimit, makeDropLog } from '../../src/ops/dropped-connections.ts';
import { openSocket, readToEnd } from '../harness/raw-http.ts';
import { startService } from '../harness/service.ts';
import { tempFolder } from '../harness/temp-folder.ts';

const WARN = 40;

it('connections beyond the limit are dropped, counted and logged, and the others are served', async () => {
  const lines: { level: number; msg: string; maxConnections?: number }[] = [];
  const { url, metricsUrl, service, poll } = await startService({
    maxConnections: 3,
    logTo: { write: (line) => void lines.push(JSON.parse(line)) },
  });
  const sockets: Socket[] = [];
  for (let n = 0; n < 3; n += 1) {
    const accepted = once(service.app.server, 'connection');
    sockets.push(await openSocket(url));
    await accepted;
  }
  for (let n = 0; n < 4; n += 1) expect(await readToEnd(await openSocket(url))).toBe('');
  for (const socket of sockets) socket.destroy();
  const open = () =>
    new Promise<number>((resolve) => service.app.server.getConnections((_error, count) => resolve(count)));
  await vi.waitFor(async () => expect(await open()).toBe(0));
  expect((await poll('boss')).status).toBe(200);
  expect(await (await fetch(metricsUrl)).text()).toMatch(/^leadtap_connections_dropped_total 4$/m);
  expect(lines.filter(({ level }) => level >= WARN)).toMatchObject([
    { level: WARN, dropped: 1, maxConnections: 3, msg: expect.stringContaining('limit of open files') },
  ]);
});

it('the log tells once a minute how many were dropped', () => {
  const warn = vi.fn();
  let now = 0;
  const logDrop = makeDropLog({ warn }, 100, () => now);
  for (now = 0; now <= 120_000; now += 1000) logDrop();
  expect(warn.mock.calls.map(([line]) => line)).toEqual([
    { dropped: 1, maxConnections: 100 },
    { dropped: 60, maxConnections: 100 },
    { dropped: 60, maxConnections: 100 },
  ]);
});

it.each([
  ['1024', 896],
  ['524288', 524_160],
  ['200', 100],
  ['unlimited', undefined],
])('with %s open files there is room for %s connections', (soft, connections) => {
  const file = join(tempFolder(), 'limits');
  writeFileSync(
    file,
    `Limit                     Soft Limit           Hard Limit           Units\nMax open files            ${soft}                 524288               files\n`,
  );
  expect(connectionLimit(file)).toBe(connections);
});

it('where the system does not tell the limit, there is none', () => {
  expect(connectionLimit(join(tempFolder(), 'nothing'))).toBe(undefined);
});
