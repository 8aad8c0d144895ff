import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { beforeQuestion } from '../../../testing/harness/before-question.ts';
import { deferred } from '../../../testing/harness/deferred.ts';
import { startService } from '../../../testing/harness/service.ts';
import { connectRaw, refused, requestHead } from './raw-connection.ts';

/** A service whose next poll waits in the store until it is released. */
async function startWithLongPoll(shutdownLimitMs?: number) {
  const service = await startService({
    ...(shutdownLimitMs !== undefined && { lifecycle: { shutdownLimitMs } }),
  });
  const [arrived, release] = [deferred(), deferred()];
  beforeQuestion(service.store, 'revalidate', () => {
    arrived.resolve();
    return release.promise;
  });
  return { ...service, arrived: arrived.promise, release: release.resolve };
}

describe('during shutdown', () => {
  it('a running request is finished, new connections are refused, and the store is closed last', async () => {
    const { add, url, poll, stop, store, arrived, release } = await startWithLongPoll(3_600_000);
    await add({ id: 'last' });
    const answer = poll('boss');
    await arrived;
    const stopped = stop();
    await refused(url);
    release();
    const response = await answer;
    expect(await response.json()).toMatchObject([{ id: 'last' }]);
    expect(response.headers.get('connection')).toBe('close');
    await stopped;
    await expect(store.status()).rejects.toThrow();
  });

  it('a request that arrives on an open connection is answered, and the connection closed', async () => {
    const { url, token, stop, service } = await startService({ lifecycle: { shutdownLimitMs: 3_600_000 } });
    const accepted = once(service.publicServer.server, 'connection');
    const { socket, received } = await connectRaw(url);
    // Half of a request keeps the connection from being idle, which would close it.
    const request = requestHead(url, await token('boss'));
    socket.write(request.slice(0, 40));
    const [serverSide]: Socket[] = await accepted;
    await vi.waitFor(() => expect(serverSide?.bytesRead).toBe(40));
    const stopped = stop();
    socket.write(request.slice(40));
    expect(await received).toMatch(/^HTTP\/1\.1 200 OK\r\n(.*\r\n)*connection: close\r\n/i);
    await stopped;
  });

  it('a client that reads its response slowly gets all of it', async () => {
    const { url, token, add, stop } = await startService({ lifecycle: { shutdownLimitMs: 3_600_000 } });
    const filler = { addressNotes: 'x'.repeat(10_000), customFields: { more: 'x'.repeat(40_000) } };
    await add(...Array.from({ length: 100 }, () => ({ fields: filler })));
    const { socket, received } = await connectRaw(url);
    socket.write(requestHead(url, await token('boss')));
    await once(socket, 'data');
    socket.pause();
    const stopped = stop();
    socket.resume();
    const text = await received;
    const length = Number(/content-length: (\d+)/.exec(text)?.[1]);
    expect(length).toBeGreaterThan(5_000_000);
    expect(text.slice(text.indexOf('\r\n\r\n') + 4)).toHaveLength(length);
    await stopped;
  });

  it('idle connections do not delay it', async () => {
    const { url, stop, token } = await startService({ lifecycle: { shutdownLimitMs: 3_600_000 } });
    const { socket, received } = await connectRaw(url);
    const answered = new Promise((resolve) => socket.once('data', resolve));
    socket.write(requestHead(url, await token('boss')));
    await answered;
    await stop();
    expect(await received).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });

  it('connections without a request do not delay it', async () => {
    const { url, stop, service } = await startService({ lifecycle: { shutdownLimitMs: 3_600_000 } });
    const accepted = new Promise((resolve) => service.publicServer.server.once('connection', resolve));
    const { received } = await connectRaw(url);
    await accepted;
    await stop();
    expect(await received).toBe('');
  });

  it('a client that never finishes its request is cut off after the limit', async () => {
    const { url, stop } = await startService({ lifecycle: { shutdownLimitMs: 20 } });
    const { socket, received } = await connectRaw(url);
    socket.write('GET /automation/new-leads HTTP/1.1\r\nHost: leads');
    await stop();
    expect(await received).not.toContain('HTTP/1.1 200');
  });

  it('a request that is never answered is cut off after the limit', async () => {
    const { poll, stop, arrived, release } = await startWithLongPoll(20);
    const answer = poll('boss').catch((error: Error) => error.message);
    await arrived;
    await stop();
    expect(await answer).toBe('fetch failed');
    release();
  });

  it('a scraper that hangs on the metrics address is cut off', async () => {
    const { metricsUrl, stop } = await startService();
    const { socket, received } = await connectRaw(metricsUrl);
    socket.write('GET /metrics HTTP/1.1\r\nHost: leads');
    await stop();
    await received;
    await expect(fetch(metricsUrl)).rejects.toThrow('fetch failed');
  });
});
