import { createServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type LookupFunction } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { makeCertificate } from '../../../testing/harness/certificate.ts';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService } from '../../../testing/harness/service.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { respondWith, startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import { readHook, startWith, storedHook, subscribe, ZAPIER_URL } from './support/hooks.ts';

/** With a clock that stands still, an event that has failed is not sent again. */
const subscribeOne = async (receiver: Awaited<ReturnType<typeof startReceiver>>, timeoutMs?: number) => {
  const service = await startWith(receiver, { clock: manualClock(), hookDelivery: { timeoutMs } });
  const token = await service.token('boss');
  const { id } = await subscribe(service, token, receiver.url);
  return { service, read: () => readHook(service, token, id) };
};

describe('an event fails', () => {
  it.each([301, 302, 307, 308])('with a redirect, which is not followed: %i', async (status) => {
    const receiver = await startReceiver();
    const target = await startReceiver();
    receiver.respond = respondWith(status, { location: target.url });
    const { service, read } = await subscribeOne(receiver);
    await service.add({});
    await vi.waitFor(async () => expect(await read()).toMatchObject({ failures: 1, lastStatus: status }));
    expect(target.events).toEqual([]);
  });

  it.each([199 + 101, 400, 404, 429, 500, 503])('with status %i', async (status) => {
    const receiver = await startReceiver();
    receiver.respond = respondWith(status);
    const { service, read } = await subscribeOne(receiver);
    await service.add({});
    await vi.waitFor(async () =>
      expect(await read()).toMatchObject({ state: 'failing', lastStatus: status }),
    );
  });

  it('if the stored URL is no URL, and the log says so', async () => {
    const lines: string[] = [];
    const service = await startService({ logTo: { write: (line) => lines.push(line) } });
    const key = { userId: 'boss', tokenId: null, tokenExpiresAt: null, createdAt: Date.now() };
    const hook = { ...key, id: '0'.repeat(32), url: 'no URL', baseUrl: service.url, since: 0 };
    await service.add({});
    await service.store.hooks?.subscribe(hook, 20);
    // A subscription over HTTP lets the service look for hooks at once.
    await subscribe(service, await service.token('rival'), ZAPIER_URL);
    await vi.waitFor(async () => expect(await storedHook(service, hook.id)).toMatchObject({ failures: 1 }));
    expect(lines.join('')).toContain('"host":"invalid URL"');
  });

  it('without a response in time', async () => {
    const receiver = await startReceiver();
    receiver.respond = () => undefined;
    const { service, read } = await subscribeOne(receiver, 200);
    await service.add({});
    await vi.waitFor(async () => expect(await read()).toMatchObject({ failures: 1, lastStatus: null }));
  });

  it('if nothing listens, or the connection ends without a response', async () => {
    const receiver = await startReceiver();
    receiver.respond = (response) => response.destroy();
    const { service, read } = await subscribeOne(receiver);
    await service.add({});
    await vi.waitFor(async () => expect(await read()).toMatchObject({ failures: 1, lastStatus: null }));
  });
});

it('an event that hangs does not delay the next events of another receiver', async () => {
  const receiver = await startReceiver();
  const other = await startReceiver();
  receiver.respond = () => undefined;
  const service = await startService({
    env: { LEADTAP_HOOK_HOSTS: `${receiver.origin},${other.origin}` },
    hookDelivery: { timeoutMs: 600_000 },
  });
  const token = await service.token('boss');
  await subscribe(service, token, receiver.url);
  await subscribe(service, token, other.url);
  await service.add({});
  await Promise.all([receiver.event(1), other.event(1)]);
  await service.add({});
  await other.event(2);
});

it('a response without an end is accepted by its status, and its body is cut off', async () => {
  const receiver = await startReceiver();
  let closed: (() => void) | undefined;
  const isClosed = new Promise<void>((resolve) => {
    closed = resolve;
  });
  receiver.respond = (response) => {
    response.writeHead(200);
    const write = () => {
      if (!response.destroyed) response.write(Buffer.alloc(16 * 1024), () => setImmediate(write));
    };
    response.once('close', () => closed?.());
    write();
  };
  const { service, read } = await subscribeOne(receiver);
  await service.add({});
  await vi.waitFor(async () => expect(await read()).toMatchObject({ state: 'active', lastStatus: 200 }));
  await isClosed;
});

it('an idle connection that the receiver has closed is no failure', async () => {
  const received: string[] = [];
  // Answers one request of a connection, and ends the connection with the first byte of the next one.
  const server = createTcpServer((socket) => {
    let requests = 0;
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      if (!chunk.toString().startsWith('POST')) return;
      requests += 1;
      if (requests > 1) return socket.resetAndDestroy();
      received.push(chunk.toString());
      return socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const service = await startService({ env: { LEADTAP_HOOK_HOSTS: origin } });
  const token = await service.token('boss');
  await subscribe(service, token, `${origin}/hook`);
  for (const count of [1, 2]) {
    await service.add({});
    await vi.waitFor(() => expect(received).toHaveLength(count));
  }
  await vi.waitFor(async () =>
    expect(await (await fetch(service.metricsUrl)).text()).toContain('{outcome="accepted"} 2'),
  );
  expect(await (await fetch(service.metricsUrl)).text()).not.toContain('{outcome="unreachable"}');
});

describe('https', () => {
  async function startSecure(tls: { key: Buffer; cert: Buffer }, port: number, address: string) {
    const requests: string[] = [];
    let bytes = 0;
    const server = createServer(tls, (request, response) => {
      requests.push(request.url ?? '');
      // Each event has a connection, and so a lookup, of its own.
      response.setHeader('connection', 'close');
      request.resume().on('end', () => response.end());
    });
    server.on('secureConnection', (socket) => socket.on('data', (chunk) => (bytes += chunk.length)));
    await new Promise<void>((resolve) => server.listen(port, address, resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return { requests, bytes: () => bytes, port: (server.address() as AddressInfo).port };
  }

  it('a name that resolves to another address later gets no byte of an event', async () => {
    const folder = tempFolder(onTestFinished);
    const trusted = makeCertificate(folder, 'receiver.test');
    const real = await startSecure(trusted, 0, '127.0.0.1');
    // Same port, another address, and a certificate of its own for the same name.
    const attacker = await startSecure(
      makeCertificate(tempFolder(onTestFinished), 'receiver.test'),
      real.port,
      '127.0.0.2',
    );
    let address = '127.0.0.1';
    const lookups: string[] = [];
    const lookup: LookupFunction = (hostname, options, callback) => {
      lookups.push(hostname);
      if (options.all) callback(null, [{ address, family: 4 }]);
      else callback(null, address, 4);
    };
    const origin = `https://receiver.test:${real.port}`;
    const clock = manualClock();
    const service = await startService({
      clock,
      env: { LEADTAP_HOOK_HOSTS: origin },
      hookDelivery: { agent: { ca: [trusted.cert], lookup } },
    });
    const token = await service.token('boss');
    const { id } = await subscribe(service, token, `${origin}/hook`);
    await service.add({});
    await vi.waitFor(async () =>
      expect(await readHook(service, token, id)).toMatchObject({ lastStatus: 200 }),
    );
    expect([real.requests, lookups]).toEqual([['/hook'], ['receiver.test']]);
    address = '127.0.0.2';
    // The pause between two events of a hook.
    clock.advance(1001);
    await service.add({});
    await vi.waitFor(async () =>
      expect(await readHook(service, token, id)).toMatchObject({ failures: 1, lastStatus: null }),
    );
    expect([attacker.requests, attacker.bytes(), lookups.length]).toEqual([[], 0, 2]);
  });

  it('the certificate is verified whatever NODE_TLS_REJECT_UNAUTHORIZED says', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    onTestFinished(() => void vi.unstubAllEnvs());
    const server = await startSecure(
      makeCertificate(tempFolder(onTestFinished), 'localhost'),
      0,
      '127.0.0.1',
    );
    const origin = `https://localhost:${server.port}`;
    const service = await startService({ clock: manualClock(), env: { LEADTAP_HOOK_HOSTS: origin } });
    const token = await service.token('boss');
    const { id } = await subscribe(service, token, `${origin}/hook`);
    await service.add({});
    await vi.waitFor(async () => expect(await readHook(service, token, id)).toMatchObject({ failures: 1 }));
    expect(server.requests).toEqual([]);
  });
});
