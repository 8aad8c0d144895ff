import { once } from 'node:events';
import type { Socket } from 'node:net';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import { expect, it, onTestFinished, vi } from 'vitest';
import { beforeQuestion } from '../../../testing/harness/before-question.ts';
import { deferred } from '../../../testing/harness/deferred.ts';
import { answersOn, openSocket, readToEnd, requestText, sendRaw } from '../../../testing/harness/raw-http.ts';
import { type ServiceOptions, startService } from '../../../testing/harness/service.ts';

const poll = (id: string | number, ...headers: readonly string[]) =>
  requestText(`GET ${NEW_LEADS_PATH} HTTP/1.1`, 'Host: x', `X-Request-Id: ${id}`, ...headers);

const polls = (count: number, ...headers: readonly string[]) =>
  Array.from({ length: count }, (_, n) => poll(n, ...headers)).join('');

/** A connection on which one request was answered already, so that the server has accepted it. */
async function connected(url: string): Promise<Socket> {
  const socket = await openSocket(url);
  onTestFinished(() => void socket.destroy());
  const answers = answersOn(socket);
  socket.write(poll('first'));
  await answers(1);
  socket.removeAllListeners('data').resume();
  return socket;
}

it('one connection has one request in progress, however many it sends', async () => {
  const { url, token, store, service } = await startService();
  const release: (() => void)[] = [];
  let inProgress = 0;
  let most = 0;
  beforeQuestion(store, 'revalidate', async () => {
    inProgress += 1;
    most = Math.max(most, inProgress);
    await new Promise<void>((resolve) => release.push(resolve));
    inProgress -= 1;
  });
  const accepted = once(service.publicServer.server, 'connection');
  const socket = await openSocket(url);
  onTestFinished(() => void socket.destroy());
  const [serverSide]: Socket[] = await accepted;
  const answers = answersOn(socket);
  const text = polls(20, `Authorization: Bearer ${await token('boss')}`);
  socket.write(text);
  await vi.waitFor(() => expect(serverSide?.bytesRead).toBe(text.length));
  for (let n = 0; n < 20; n += 1) {
    await vi.waitFor(() => expect(release).toHaveLength(1));
    release.pop()?.();
  }
  const ids = (await answers(20)).map(({ headers }) => Number(headers['x-request-id']));
  expect(ids).toEqual(Array.from({ length: 20 }, (_, n) => n));
  expect(most).toBe(1);
});

it('a client is answered after a few of the requests that another has pipelined', async () => {
  const ids: string[] = [];
  const options: ServiceOptions = {
    logTo: { write: (line) => void ids.push(String(JSON.parse(line).requestId)) },
  };
  const { url } = await startService(options);
  const attackers = [await connected(url), await connected(url), await connected(url)];
  const victim = await connected(url);
  ids.length = 0;
  for (const attacker of attackers) attacker.write(polls(30));
  victim.write(poll('victim'));
  await vi.waitFor(() => expect(ids).toHaveLength(91));
  // Each connection of the attackers has had one or two of its 90 requests answered before.
  expect(ids.indexOf('victim')).toBeLessThan(10);
});

it('a connection with 32 unanswered requests is closed after the last of them', async () => {
  const lines: string[] = [];
  const { url } = await startService({ logTo: { write: (line) => void lines.push(line) } });
  const answers = await sendRaw(url, polls(100));
  expect(answers.map(({ headers }) => headers['x-request-id'])).toEqual(
    Array.from({ length: 32 }, (_, n) => String(n)),
  );
  expect(answers.map(({ headers }) => headers['connection'])).toEqual([
    ...Array(31).fill('keep-alive'),
    'close',
  ]);
  expect(lines.filter((line) => line.includes('"msg":"request"'))).toHaveLength(32);
});

it('a connection that keeps sending requests without waiting for answers is closed', async () => {
  const { url, token, store, service } = await startService();
  const released = deferred();
  onTestFinished(() => released.resolve());
  beforeQuestion(store, 'revalidate', () => released.promise);
  let received = 0;
  service.publicServer.server.on('request', () => {
    received += 1;
  });
  const socket = await openSocket(url);
  const closed = readToEnd(socket);
  socket.write(polls(5_000, `Authorization: Bearer ${await token('boss')}`));
  expect(await closed).toBe('');
  // Node parses what it has read in one piece, at most 64 KiB, before it notices that the connection is closed.
  expect(received).toBeLessThan(1_000);
});
