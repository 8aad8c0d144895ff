import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import { createPollHandler, type PollStore } from 'leadtap';
import { expect, it, onTestFinished, vi } from 'vitest';
import { deferred } from '../../../testing/harness/deferred.ts';
import { emptyStore, makeStubStore, noLimit } from '../../../testing/harness/endpoint.ts';
import { openSocket, requestText } from '../../../testing/harness/raw-http.ts';
import { ClientDisconnectedError } from '../../src/sql/errors.ts';
import { eventually } from '../faults/eventually.ts';

const REQUESTS = 20;

/** The handler on Node's own server, and a connection that has sent all its requests at once. */
async function pipeline(readPage: PollStore['readPage']) {
  const lines: object[] = [];
  const write = (line: object, msg: string) => void lines.push({ msg, ...line });
  const observe = vi.fn();
  const handlePoll = createPollHandler({
    store: makeStubStore({ readPage }),
    verifyToken: () => ({ kind: 'valid', token: { userId: 'boss', tokenId: 'token-1' } }),
    limiter: noLimit,
    observer: { observe },
    logger: { info: write, error: write },
  });
  const server = createServer(handlePoll);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const accepted = once(server, 'connection');
  const socket = await openSocket(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => void socket.destroy());
  const [serverSide]: Socket[] = await accepted;
  const poll = requestText(`GET ${NEW_LEADS_PATH} HTTP/1.1`, 'Host: x', 'Authorization: Bearer any');
  socket.write(poll.repeat(REQUESTS));
  return { lines, observe, socket, serverSide };
}

it('queries of waiting requests are cancelled, and each request is logged and counted', async () => {
  const signals: AbortSignal[] = [];
  const { lines, observe, socket } = await pipeline(
    (_query, signal) =>
      new Promise((_resolve, reject) => {
        if (!signal) return;
        signals.push(signal);
        signal.addEventListener('abort', () =>
          reject(new ClientDisconnectedError('the client has disconnected')),
        );
      }),
  );
  await eventually(() => expect(signals).toHaveLength(REQUESTS));
  socket.resetAndDestroy();
  await eventually(() => expect(lines).toHaveLength(REQUESTS));
  expect(signals.every(({ aborted }) => aborted)).toBe(true);
  expect(lines).toMatchObject(Array.from({ length: REQUESTS }, () => ({ msg: 'request', status: 499 })));
  expect(observe).toHaveBeenCalledTimes(REQUESTS);
});

it('waiting responses are logged and counted', async () => {
  const first = deferred();
  onTestFinished(() => first.resolve());
  let reads = 0;
  const { lines, observe, socket } = await pipeline(async (query, signal) => {
    reads += 1;
    if (reads === 1) await first.promise;
    return emptyStore.readPage(query, signal);
  });
  await eventually(() => expect(reads).toBe(REQUESTS));
  socket.resetAndDestroy();
  await eventually(() => expect(lines).toHaveLength(REQUESTS - 1));
  first.resolve();
  await eventually(() => expect(observe).toHaveBeenCalledTimes(REQUESTS));
});

it('no listeners are left on the connection, nor so many added that Node warns', async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => void warnings.push(warning);
  process.on('warning', note);
  onTestFinished(() => void process.off('warning', note));
  const { lines, serverSide } = await pipeline(emptyStore.readPage);
  await eventually(() => expect(lines).toHaveLength(REQUESTS));
  expect(warnings).toEqual([]);
  expect(serverSide?.listenerCount('close')).toBeLessThan(5);
});
