import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { ownTcpProxy } from '../harness/own-servers.ts';
import type { TcpProxy } from '../servers/tcp-proxy.ts';

/** A server that sends back what it gets, a proxy in front of it, and a client. */
async function connectThroughProxy() {
  const accepted: Socket[] = [];
  const server = createServer((socket) => {
    accepted.push(socket.on('error', () => undefined));
    socket.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const proxy = await ownTcpProxy((server.address() as AddressInfo).port);
  const client = connectTo(proxy);
  await expectEcho(client, 'before the fault');
  return { proxy, client, accepted };
}

function connectTo(proxy: TcpProxy): Socket {
  const socket = connect(Number(new URL(proxy.through('tcp://127.0.0.1:1')).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  return socket;
}

async function expectEcho(socket: Socket, text: string): Promise<void> {
  const received = receive(socket);
  socket.write(text);
  await expect.poll(() => received.text).toBe(text);
}

/** Collects what arrives from now on. */
function receive(socket: Socket): { text: string } {
  const received = { text: '' };
  socket.on('data', (chunk) => {
    received.text += chunk;
  });
  return received;
}

it('delay: every chunk arrives later, whole', async () => {
  const { proxy, client } = await connectThroughProxy();
  proxy.begin({ kind: 'delay', ms: 50 });
  const begun = performance.now();
  await expectEcho(client, 'delayed');
  // One delay for each direction; timers may fire a millisecond early.
  expect(performance.now() - begun).toBeGreaterThan(95);
});

it('slow bytes: everything arrives, a few bytes at a time', async () => {
  const { proxy, client } = await connectThroughProxy();
  proxy.begin({ kind: 'slow bytes', bytes: 3, pauseMs: 5 });
  const chunks: number[] = [];
  client.on('data', (chunk) => chunks.push(chunk.length));
  client.write('x'.repeat(30));
  await expect.poll(() => chunks.reduce((sum, length) => sum + length, 0)).toBe(30);
  expect(chunks.length).toBeGreaterThan(3);
});

it('hang: bytes arrive when the fault ends', async () => {
  const { proxy, client } = await connectThroughProxy();
  const received = receive(client);
  proxy.begin({ kind: 'hang' });
  client.write('held back');
  await untilNetworkIsIdle();
  expect(received.text).toBe('');
  proxy.recover();
  await expect.poll(() => received.text).toBe('held back');
});

it('half-open: bytes and closings vanish, the connection stays, and new ones work after the fault', async () => {
  const { proxy, client, accepted } = await connectThroughProxy();
  const received = receive(client);
  proxy.begin({ kind: 'half-open' });
  client.write('lost');
  await untilNetworkIsIdle();
  accepted[0]?.destroy();
  await untilNetworkIsIdle();
  expect([received.text, client.closed]).toEqual(['', false]);
  proxy.recover();
  await expectEcho(connectTo(proxy), 'after the fault');
  await expect.poll(() => client.closed).toBe(true);
  expect(received.text).toBe('');
});

it.each(['cut', 'reset'] as const)(
  '%s: both ends are closed after some bytes of the response',
  async (kind) => {
    const { proxy, client, accepted } = await connectThroughProxy();
    const errors: string[] = [];
    for (const socket of [client, ...accepted])
      socket.on('error', (error: NodeJS.ErrnoException) => errors.push(error.code ?? ''));
    proxy.begin({ kind, afterBytes: 5 });
    const received = receive(client);
    client.write('0123456789');
    await expect.poll(() => [client.closed, accepted[0]?.closed]).toEqual([true, true]);
    // The client may have its bytes before it notices the reset, or not.
    if (kind === 'reset') expect(errors).toContain('ECONNRESET');
    else expect([received.text, errors]).toEqual(['01234', []]);
    proxy.recover();
    await expectEcho(connectTo(proxy), 'after the fault');
    expect(proxy.connections).toBe(1);
  },
);

/** Long enough for bytes on 127.0.0.1, which a connection without a fault passes on at once. */
async function untilNetworkIsIdle(): Promise<void> {
  for (let turns = 0; turns < 200; turns += 1) await new Promise((resolve) => setImmediate(resolve));
}
