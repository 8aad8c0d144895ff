import { once } from 'node:events';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import { createPollHandler } from 'leadtap';
import { describe, expect, it, vi } from 'vitest';
import { listen, makeStubStore } from '../../../testing/harness/endpoint.ts';
import { openSocket, requestText } from '../../../testing/harness/raw-http.ts';
import { startService } from '../../../testing/harness/service.ts';

async function startLogged() {
  const lines: { level: string; msg: string; status?: number }[] = [];
  const service = await startService({ logTo: { write: (line) => void lines.push(JSON.parse(line)) } });
  const openConnections = () =>
    new Promise<number>((resolve) =>
      service.service.publicServer.server.getConnections((_error, count) => resolve(count)),
    );
  const opened = (count: number) => vi.waitFor(async () => expect(await openConnections()).toBe(count));
  const settled = () => opened(0);
  return { ...service, lines, opened, settled };
}

describe('a client that resets its connection', () => {
  it('after a bad token is counted as a failed token, and causes no 5xx and no error line', async () => {
    const { url, metricsUrl, lines, opened, settled } = await startLogged();
    const guess = requestText(
      `GET ${NEW_LEADS_PATH} HTTP/1.1`,
      'Host: x',
      'Content-Length: 0',
      'Authorization: Bearer a.b.c',
    );
    for (let batch = 0; batch < 16; batch += 1) {
      const sockets = await Promise.all(Array.from({ length: 40 }, () => openSocket(url)));
      await opened(40);
      for (const socket of sockets) socket.write(guess, () => socket.resetAndDestroy());
      await settled();
    }
    const headers = { authorization: 'Bearer a.b.c' };
    expect((await fetch(`${url}${NEW_LEADS_PATH}`, { headers })).status).toBe(429);
    expect(lines.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
    expect(await (await fetch(metricsUrl)).text()).not.toMatch(/leadtap_polls_total\{status="5/);
  });

  it('during its response is logged at level info', async () => {
    const { url, token, add, lines, settled } = await startLogged();
    const filler = { addressNotes: 'x'.repeat(10_000), customFields: { more: 'x'.repeat(40_000) } };
    await add(...Array.from({ length: 100 }, () => ({ fields: filler })));
    const authorization = `Authorization: Bearer ${await token('boss')}`;
    const socket = await openSocket(url);
    socket.write(requestText(`GET ${NEW_LEADS_PATH} HTTP/1.1`, 'Host: x', authorization));
    await once(socket, 'data');
    socket.resetAndDestroy();
    await settled();
    expect(lines).toContainEqual(
      expect.objectContaining({ level: 'info', status: 200, msg: 'client disconnected during the response' }),
    );
    expect(lines.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
  });
});

it('the address of a failed token is read at the start of the request', async () => {
  let reset: () => void = () => undefined;
  const hasReset = new Promise<void>((resolve) => {
    reset = resolve;
  });
  const counted: string[] = [];
  const observed: number[] = [];
  const handle = createPollHandler({
    store: makeStubStore(),
    verifyToken: async () => {
      await hasReset;
      return { kind: 'invalid' };
    },
    failedTokens: {
      consume: (key) => {
        counted.push(key);
        return { windows: [], violated: [], retryAfterS: 0 };
      },
    },
    observer: { observe: ({ status }) => void observed.push(status) },
  });
  const { server, url } = await listen(handle);
  const accepted = once(server, 'connection');
  const socket = await openSocket(url);
  const [serverSide] = await accepted;
  socket.write(requestText(`GET ${NEW_LEADS_PATH} HTTP/1.1`, 'Host: x', 'Authorization: Bearer a.b.c'));
  await vi.waitFor(() => expect(serverSide?.bytesRead).toBeGreaterThan(0));
  socket.resetAndDestroy();
  await vi.waitFor(() => expect(serverSide?.destroyed).toBe(true));
  reset();
  await vi.waitFor(() => expect(observed).toEqual([499]));
  expect(counted).toEqual(['127.0.0.1']);
});
