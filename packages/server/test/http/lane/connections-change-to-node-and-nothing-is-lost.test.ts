import { once } from 'node:events';
import type { Socket } from 'node:net';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { beforeQuestion } from '../../harness/before-question.ts';
import { deferred } from '../../harness/deferred.ts';
import { answersOn, openSocket, readToEnd, requestText } from '../../harness/raw-http.ts';
import { type ServiceOptions, startService } from '../../harness/service.ts';

/** A service of which it is known what reached Fastify, and a connection to it. */
async function connected(options: ServiceOptions & { allowHalfOpen?: boolean } = {}) {
  const routed: string[] = [];
  const service = await startService({
    ...options,
    prepare: ({ app }) =>
      void app.addHook('onRequest', async ({ url, method }) => void routed.push(`${method} ${url}`)),
  });
  const authorization = `Authorization: Bearer ${await service.token('boss')}`;
  const socket = await openSocket(service.url, { allowHalfOpen: options.allowHalfOpen ?? false });
  onTestFinished(() => void socket.destroy());
  const poll = (limit: number, ...headers: readonly string[]) =>
    requestText(
      `GET ${NEW_LEADS_PATH}?limit=${limit} HTTP/1.1`,
      'Host: leads.example',
      authorization,
      ...headers,
    );
  return { ...service, socket, routed, poll };
}

/** Holds polls up until the test lets them go. */
function hold({ store }: Awaited<ReturnType<typeof connected>>) {
  const [arrived, letGo] = [deferred(), deferred()];
  const end = beforeQuestion(store, 'findUser', () => {
    arrived.resolve();
    return letGo.promise;
  });
  return {
    arrived: arrived.promise,
    letGo: () => {
      end();
      letGo.resolve();
    },
  };
}

const LIVE = requestText('GET /livez HTTP/1.1', 'Host: leads.example');
const limitIn = (link = '') => Number(/limit=(\d+)/.exec(link)?.[1]);

/** Sent as a piece of its own: the next one follows when the system has taken it. */
const send = (socket: Socket, text: string) =>
  new Promise<void>((resolve) => socket.write(text, 'latin1', () => resolve()));

describe('one connection', () => {
  it('has one plain poll after the other answered before Fastify', async () => {
    const { socket, poll, routed } = await connected();
    const answers = answersOn(socket);
    for (const limit of [1, 2, 3]) {
      await send(socket, poll(limit));
      const [answer] = await answers(1);
      expect(answer).toMatchObject({ status: 200, headers: { connection: 'keep-alive' } });
      expect(limitIn(answer?.headers['link'])).toBe(limit);
    }
    expect(routed).toEqual([]);
  });

  it('is left to Node with the first request that is no plain poll, and stays there', async () => {
    const { socket, poll, routed } = await connected();
    const answers = answersOn(socket);
    await send(socket, poll(1));
    await answers(1);
    await send(socket, LIVE);
    expect(await answers(1)).toMatchObject([{ status: 200 }]);
    await send(socket, poll(2));
    expect(await answers(1)).toMatchObject([{ status: 200 }]);
    expect(routed).toEqual(['GET /livez', `GET ${NEW_LEADS_PATH}?limit=2`]);
  });

  it('may send a poll in pieces, wherever they are cut', async () => {
    const { url, poll } = await connected();
    const text = poll(7, 'Connection: close');
    for (const cut of [1, 4, 20, text.indexOf('\r\n') + 1, text.length - 3, text.length - 1]) {
      const socket = await openSocket(url);
      socket.setNoDelay(true);
      const received = readToEnd(socket);
      await send(socket, text.slice(0, cut));
      await send(socket, text.slice(cut));
      expect(await received).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    }
  });

  it('has many requests in one piece answered in their order', async () => {
    const { socket, poll } = await connected();
    const answers = answersOn(socket);
    await send(socket, poll(1) + poll(2) + LIVE + poll(3));
    const got = await answers(4);
    expect(got.map(({ headers }) => limitIn(headers['link']))).toEqual([1, 2, Number.NaN, 3]);
  });

  it('that sends on before it is answered has everything answered in its order', async () => {
    const service = await connected();
    const { socket, poll, routed } = service;
    const { arrived, letGo } = hold(service);
    const answers = answersOn(socket);
    await send(socket, poll(1));
    await arrived;
    await send(socket, poll(2));
    await send(socket, poll(3) + LIVE);
    letGo();
    const got = await answers(4);
    expect(got.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(got.map(({ headers }) => limitIn(headers['link']))).toEqual([1, 2, 3, Number.NaN]);
    expect(routed.at(-1)).toBe('GET /livez');
  });

  it('that wants to be closed is closed after its answer, and not asked twice', async () => {
    const { socket, poll, routed } = await connected();
    const received = readToEnd(socket);
    await send(socket, poll(1, 'Connection: close'));
    const text = await received;
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(text).toContain('connection: close\r\n');
    expect(routed).toEqual([]);
  });

  it('of a caller who closes its side before it is answered is given up', async () => {
    const service = await connected({ allowHalfOpen: true });
    const { socket, poll } = service;
    const { arrived, letGo } = hold(service);
    const received = readToEnd(socket);
    socket.write(poll(1));
    await arrived;
    socket.end();
    expect(await received).toBe('');
    letGo();
  });

  it('whose caller is slow gets the whole answer, also when the service is told to stop meanwhile', async () => {
    const { socket, poll, add, stop } = await connected({ lifecycle: { shutdownLimitMs: 3_600_000 } });
    const filler = { addressNotes: 'x'.repeat(10_000), customFields: { more: 'x'.repeat(40_000) } };
    await add(...Array.from({ length: 100 }, () => ({ fields: filler })));
    const received = readToEnd(socket);
    await send(socket, poll(100));
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
});
