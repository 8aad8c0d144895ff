import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openSocket, readToEnd } from '../../../testing/harness/raw-http.ts';
import { startService } from '../../../testing/harness/service.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { createDropLog, socketLimits } from '../../src/ops/listen.ts';

it('connections beyond the limit are dropped, counted and logged, and the others are served', async () => {
  const lines: { level: string; msg: string; maxConnections?: number }[] = [];
  const { url, metricsUrl, service, poll } = await startService({
    maxConnections: 3,
    logTo: { write: (line) => void lines.push(JSON.parse(line)) },
  });
  const sockets: Socket[] = [];
  for (let n = 0; n < 3; n += 1) {
    const accepted = once(service.publicServer.server, 'connection');
    sockets.push(await openSocket(url));
    await accepted;
  }
  for (let n = 0; n < 4; n += 1) expect(await readToEnd(await openSocket(url))).toBe('');
  for (const socket of sockets) socket.destroy();
  const open = () =>
    new Promise<number>((resolve) =>
      service.publicServer.server.getConnections((_error, count) => resolve(count)),
    );
  await vi.waitFor(async () => expect(await open()).toBe(0));
  expect((await poll('boss')).status).toBe(200);
  expect(await (await fetch(metricsUrl)).text()).toMatch(/^leadtap_connections_dropped_total 4$/m);
  expect(lines.filter(({ level }) => level === 'warn' || level === 'error')).toMatchObject([
    { level: 'warn', dropped: 1, maxConnections: 3, msg: expect.stringContaining('limit of open files') },
  ]);
});

it('the first drop is logged at once, later ones once a minute', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const warn = vi.fn();
  const logDrop = createDropLog({ warn }, 100);
  const logged = () => warn.mock.calls.map(([{ dropped }]) => dropped);
  for (let n = 0; n < 50; n += 1) logDrop();
  expect(logged()).toEqual([1]);
  vi.advanceTimersByTime(60_000);
  expect(logged()).toEqual([1, 49]);
  vi.advanceTimersByTime(30_000);
  logDrop();
  expect(logged()).toEqual([1, 49]);
  vi.advanceTimersByTime(30_000);
  expect(logged()).toEqual([1, 49, 1]);
  vi.advanceTimersByTime(600_000);
  expect(vi.getTimerCount()).toBe(0);
  logDrop();
  expect(logged()).toEqual([1, 49, 1, 1]);
});

it.each([
  ['1024', 0, { maxConnections: 896, maxHookSockets: 0 }],
  ['1024', 4000, { maxConnections: 768, maxHookSockets: 128 }],
  ['524288', 4000, { maxConnections: 520_160, maxHookSockets: 4000 }],
  ['200', 4000, { maxConnections: 75, maxHookSockets: 25 }],
  ['unlimited', 4000, undefined],
])('a limit of %s open files is shared by connections and up to %i webhooks', (soft, hooks, limits) => {
  const file = join(tempFolder(), 'limits');
  writeFileSync(
    file,
    `Limit                     Soft Limit           Hard Limit           Units\nMax open files            ${soft}                 524288               files\n`,
  );
  expect(socketLimits(hooks, file)).toEqual(limits);
});

it('without a known limit of open files, connections are not limited', () => {
  expect(socketLimits(0, join(tempFolder(), 'nothing'))).toBe(undefined);
});
