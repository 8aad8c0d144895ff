import { createServer } from 'node:https';
import {
  type AddressInfo,
  createServer as createTcpServer,
  type LookupFunction,
  type Socket,
} from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { makeCertificate } from '../../../testing/harness/certificate.ts';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService } from '../../../testing/harness/service.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { NEVER_MS } from '../../../testing/harness/timeouts.ts';
import { respondWith, startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import { createDelivery } from '../../src/hooks/deliver.ts';
import { readHook, startWith, subscribe, ZAPIER_URL } from './support/hooks.ts';

/** With a clock that stands still, an event that has failed is not sent again. */
const subscribeOne = async (receiver: { origin: string; url: string }, timeoutMs?: number) => {
  const service = await startWith(receiver, { clock: manualClock(), hookDelivery: { timeoutMs } });
  const token = await service.token('boss');
  const { id } = await subscribe(service, token, receiver.url);
  return { service, read: () => readHook(service, token, id) };
};

describe('an event fails', () => {
  it.each([302, 307])('with a redirect, which is not followed: %i', async (status) => {
    const receiver = await startReceiver();
    const target = await startReceiver();
    receiver.respond = respondWith(status, { location: target.url });
    const { service, read } = await subscribeOne(receiver);
    await service.add({});
    await vi.waitFor(async () => expect(await read()).toMatchObject({ failures: 1, lastStatus: status }));
    expect(target.events).toEqual([]);
  });

  it.each([300, 404, 500])('with status %i', async (status) => {
    const receiver = await startReceiver();
    receiver.respond = respondWith(status);
    const { service, read } = await subscribeOne(receiver);
    await service.add({});
    await vi.waitFor(async () =>
      expect(await read()).toMatchObject({ state: 'failing', lastStatus: status }),
    );
  });

  it('without an attempt if the stored URL is no URL, and the log says so', async () => {
    const lines: string[] = [];
    const service = await startService({ logTo: { write: (line) => lines.push(line) } });
    const key = { userId: 'boss', tokenId: null, tokenExpiresAt: null, send: 'event' } as const;
    const hook = { ...key, id: '0'.repeat(32), url: 'no URL', baseUrl: service.url, since: 0 };
    await service.add({});
    await service.store.hooks.subscribe(hook, 20);
    // A subscription over HTTP lets the service look for hooks at once.
    await subscribe(service, await service.token('rival'), ZAPIER_URL);
    await vi.waitFor(() => expect(lines.join('')).toContain('"host":"invalid URL"'));
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

/** A receiver that writes what no HTTP server would. `answer` is called for each event. */
async function startRawReceiver(answer: (socket: Socket, number: number) => void) {
  const open = new Set<Socket>();
  let [connections, events] = [0, 0];
  const server = createTcpServer((socket) => {
    connections += 1;
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      if (!chunk.toString().startsWith('POST')) return;
      events += 1;
      answer(socket, events);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { origin, url: `${origin}/hook`, open, connections: () => connections, events: () => events };
}

const OK = 'HTTP/1.1 200 OK\r\n';

/** As long as the connection is open. */
function repeat(socket: Socket, text: string): void {
  if (!socket.destroyed) socket.write(text, () => setImmediate(repeat, socket, text));
}

describe('what follows the head of a response is not waited for', () => {
  it.each<[string, (socket: Socket) => void, object]>([
    ['nothing', (socket) => socket.write(`${OK}\r\n`), { lastStatus: 200 }],
    [
      'one chunk, and no end',
      (socket) => socket.write(`${OK}transfer-encoding: chunked\r\n\r\n1\r\nx\r\n`),
      { lastStatus: 200 },
    ],
    [
      'chunks of one byte for ever',
      (socket) => {
        socket.write(`${OK}transfer-encoding: chunked\r\n\r\n`);
        repeat(socket, '1\r\nx\r\n');
      },
      { lastStatus: 200 },
    ],
    [
      'a part of a short body',
      (socket) => socket.write(`${OK}content-length: 9\r\n\r\nx`),
      { lastStatus: 200 },
    ],
    [
      'a long body',
      (socket) => {
        socket.write(`${OK}content-length: 999999999\r\n\r\n`);
        repeat(socket, 'x');
      },
      { lastStatus: 200 },
    ],
    ['a body after an error', (socket) => socket.write('HTTP/1.1 500 x\r\n\r\n'), { lastStatus: 500 }],
  ])('%s: the status counts, and the connection is closed', async (_name, answer, expected) => {
    const receiver = await startRawReceiver(answer);
    const { service, read } = await subscribeOne(receiver);
    await service.add({});
    await vi.waitFor(async () => expect(await read()).toMatchObject(expected));
    await vi.waitFor(() => expect(receiver.open.size).toBe(0));
  });

  it('only a short body is waited for, for a short time', async () => {
    const short = await startRawReceiver((socket) => socket.write(`${OK}content-length: 1024\r\n\r\nx`));
    const others = [
      await startRawReceiver((socket) => socket.write(`${OK}content-length: 1025\r\n\r\nx`)),
      await startRawReceiver((socket) => socket.write(`${OK}transfer-encoding: chunked\r\n\r\n`)),
    ];
    const delivery = createDelivery({ timeoutMs: NEVER_MS });
    onTestFinished(() => delivery.close());
    const ended: string[] = [];
    const post = async ({ url }: { url: string }) => {
      await delivery.post(new URL(url), {}, '');
      ended.push(url);
    };
    await Promise.all([short, ...others].map(post));
    expect(ended.at(-1)).toBe(short.url);
  });

  it('what arrives with the head is not parsed', async () => {
    const errors: NodeJS.ErrnoException[] = [];
    const receiver = await startRawReceiver((socket) => {
      socket.on('error', (error) => errors.push(error));
      socket.write(`${OK}transfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(2000)}`);
    });
    const delivery = createDelivery({ timeoutMs: NEVER_MS });
    onTestFinished(() => delivery.close());
    expect(await delivery.post(new URL(receiver.url), {}, '')).toMatchObject({
      kind: 'accepted',
      status: 200,
    });
    // A connection that is closed with unread bytes is reset.
    await vi.waitFor(() => expect(errors).toMatchObject([{ code: 'ECONNRESET' }]));
  });

  it('one 103 is skipped, and the second one is a failure', async () => {
    const hint = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n';
    const receiver = await startRawReceiver((socket, number) => {
      if (number === 1) socket.write(`${hint}${OK}content-length: 0\r\n\r\n`);
      else repeat(socket, hint);
    });
    const delivery = createDelivery({ timeoutMs: NEVER_MS });
    onTestFinished(() => delivery.close());
    const post = () => delivery.post(new URL(receiver.url), {}, '');
    expect(await post()).toEqual({ kind: 'accepted', status: 200 });
    expect(await post()).toEqual({ kind: 'unreachable' });
  });
});

describe('of the body of a failure', () => {
  const failed = (headers: string, body: string) => `HTTP/1.1 500 x\r\n${headers}\r\n\r\n${body}`;
  const post = async (answer: (socket: Socket) => void) => {
    const receiver = await startRawReceiver(answer);
    const delivery = createDelivery({ timeoutMs: NEVER_MS });
    onTestFinished(() => delivery.close());
    const outcome = await delivery.post(new URL(receiver.url), {}, '');
    return { receiver, outcome };
  };
  const TEXT = 'content-type: text/plain; charset=utf-8';
  const CHUNKED = `${TEXT}\r\ntransfer-encoding: chunked`;

  it.each([
    ['text', failed(`${TEXT}\r\ncontent-length: 9`, 'not today'), 'not today'],
    ['JSON', failed('content-type: application/problem+json\r\ncontent-length: 2', '{}'), '{}'],
    [
      'text without control characters',
      failed(`${TEXT}\r\ncontent-length: 9`, 'a\0\u001b[1m\nb '),
      'a [1m b',
    ],
    ['a text of 200 bytes', failed(`${TEXT}\r\ncontent-length: 999`, 'é'.repeat(499)), 'é'.repeat(100)],
    ['no image', failed('content-type: image/png\r\ncontent-length: 3', 'PNG'), undefined],
    ['nothing compressed', failed(`${TEXT}\r\ncontent-encoding: gzip\r\ncontent-length: 1`, 'x'), undefined],
    ['text without a type', failed('content-length: 15', 'Wrong\tuser!\r\né'), 'Wrong user! é'],
    ['no other bytes without a type', failed('content-length: 3', 'a\0b'), undefined],
  ])('the reason is %s', async (_name, text, reason) => {
    const { outcome } = await post((socket) => socket.end(text));
    expect(outcome).toMatchObject({ kind: 'refused', status: 500 });
    expect(outcome === 'aborted' ? undefined : 'reason' in outcome ? outcome.reason : undefined).toBe(reason);
  });

  it('only what comes at once is read, and then the connection is closed', async () => {
    const first = await post((socket) => socket.write(failed(CHUNKED, '1\r\nx\r\n')));
    expect(first.outcome).toMatchObject({ status: 500, reason: 'x' });
    const endless = await post((socket) => {
      socket.write(failed(CHUNKED, ''));
      repeat(socket, '1\r\nx\r\n');
    });
    expect(endless.outcome).toMatchObject({ status: 500, reason: 'x'.repeat(200) });
    const long = await post((socket) => {
      socket.write(failed(`${TEXT}\r\ncontent-length: 999999999`, ''));
      repeat(socket, 'x');
    });
    expect(long.outcome).toMatchObject({ status: 500, reason: 'x'.repeat(200) });
    for (const { receiver } of [first, endless, long])
      await vi.waitFor(() => expect(receiver.open.size).toBe(0));
  });
});

it('an idle connection is used again, and if the receiver has closed it, that is no failure', async () => {
  // Ends a connection with the first byte of its second request. The body of a response arrives after its head.
  const receiver = await startRawReceiver((socket, number) => {
    if (number === 2) return void socket.resetAndDestroy();
    socket.write(`${OK}content-length: 2\r\n\r\n`);
    setImmediate(() => socket.write('ok'));
  });
  const delivery = createDelivery();
  onTestFinished(() => delivery.close());
  for (let n = 1; n <= 2; n += 1)
    expect(await delivery.post(new URL(receiver.url), {}, '')).toMatchObject({
      kind: 'accepted',
      status: 200,
    });
  expect([receiver.events(), receiver.connections()]).toEqual([3, 2]);
});

it('no more than a quarter of the sockets stay open when they are idle', async () => {
  const answers: (() => void)[] = [];
  const receivers = await Promise.all(
    Array.from({ length: 6 }, () =>
      startRawReceiver((socket) => {
        answers.push(() => socket.write(`${OK}content-length: 0\r\n\r\n`));
        if (answers.length === 6) for (const answer of answers) answer();
      }),
    ),
  );
  const delivery = createDelivery({ maxSockets: 8 });
  onTestFinished(() => delivery.close());
  const outcomes = await Promise.all(receivers.map(({ url }) => delivery.post(new URL(url), {}, '')));
  expect(outcomes).toEqual(Array(delivery.maxInFlight).fill({ kind: 'accepted', status: 200 }));
  const countOpen = () => receivers.reduce((sum, { open }) => sum + open.size, 0);
  // Idle ones are closed after 30 seconds.
  await vi.waitFor(() => expect(countOpen()).toBeLessThanOrEqual(2), { timeout: 20_000 });
});

it('a request that cannot be made is a failure of this event only', async () => {
  const delivery = createDelivery({ timeoutMs: 60_000 });
  onTestFinished(() => delivery.close());
  const outcome = delivery.post(new URL('http://127.0.0.1/'), { 'no header': 'x' }, '');
  expect(await outcome).toEqual({ kind: 'unreachable' });
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
