import { NEW_LEADS_PATH } from '@leadtap/contract';
import type { Store } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { beforeQuestion } from '../../../testing/harness/before-question.ts';
import { openSocket, requestText } from '../../../testing/harness/raw-http.ts';
import { startService } from '../../../testing/harness/service.ts';
import { eventually } from '../faults/eventually.ts';

/** Delays the pages of polls until they are released. */
function holdPages(store: Store) {
  const waiting: (() => void)[] = [];
  const end = beforeQuestion(store, 'readLeads', () => new Promise((resolve) => waiting.push(resolve)));
  return {
    waiting,
    release: () => {
      end();
      for (const resolve of waiting) resolve();
    },
  };
}

describe('a client that disconnects', () => {
  it('while its page is read does not affect others, and the service stops at once', async () => {
    const { url, token, service, poll, stop } = await startService();
    const { waiting, release } = holdPages(service.store);
    const authorization = `Authorization: Bearer ${await token('boss')}`;
    const sockets = await Promise.all(Array.from({ length: 20 }, () => openSocket(url)));
    // Different pages: requests for the same page would share one read.
    for (const [index, socket] of sockets.entries())
      socket.write(
        requestText(`GET ${NEW_LEADS_PATH}?limit=${index + 1} HTTP/1.1`, 'Host: x', authorization),
      );
    await eventually(() => expect(waiting).toHaveLength(20));
    for (const socket of sockets) socket.resetAndDestroy();

    const staying = poll('boss');
    await eventually(() => expect(waiting).toHaveLength(21));
    release();
    expect((await staying).status).toBe(200);
    await stop();
  });

  it('during its request leaves no connection', async () => {
    const { url, service } = await startService();
    const connections = () =>
      new Promise<number>((resolve) =>
        service.publicServer.server.getConnections((_error, count) => resolve(count)),
      );
    for (const part of ['', 'G', 'GET / HT', `GET ${NEW_LEADS_PATH} HTTP/1.1\r\nHost: x\r\nAuthori`]) {
      const socket = await openSocket(url);
      socket.write(part, () => socket.resetAndDestroy());
    }
    await eventually(async () => expect(await connections()).toBe(0));
  });

  it('during its response does not affect others', async () => {
    const { url, token, add, poll, stop } = await startService();
    const filler = { addressNotes: 'x'.repeat(10_000), customFields: { more: 'x'.repeat(40_000) } };
    await add(...Array.from({ length: 100 }, () => ({ fields: filler })));
    const text = requestText(
      `GET ${NEW_LEADS_PATH} HTTP/1.1`,
      'Host: x',
      `Authorization: Bearer ${await token('boss')}`,
    );
    for (let i = 0; i < 5; i += 1) {
      const socket = await openSocket(url);
      socket.write(text);
      await new Promise<void>((resolve) => socket.once('data', () => resolve()));
      socket.resetAndDestroy();
    }
    const staying = await poll('boss');
    expect(staying.status).toBe(200);
    // Shutdown waits for responses that are not read completely.
    await staying.arrayBuffer();
    await stop();
  });
});
