import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import { createPollHandler, StoreUnavailableError } from 'leadtap';
import { expect, it, onTestFinished } from 'vitest';
import { makeStubStore, type StubQueries } from '../../../testing/harness/endpoint.ts';

type Line = Readonly<Record<string, unknown>>;

async function serve(store: Partial<StubQueries> = {}) {
  const lines: Line[] = [];
  const write = (level: string) => (line: object, msg: string) => void lines.push({ level, msg, ...line });
  const handlePoll = createPollHandler({
    store: makeStubStore(store),
    verifyToken: () => ({ kind: 'valid', token: { userId: 'boss', tokenId: 'token-1' } }),
    basePath: '/crm',
    publicUrl: 'https://crm.example/crm',
    logger: { info: write('info'), error: write('error') },
  });
  const server = createServer(handlePoll);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/crm${NEW_LEADS_PATH}`;
  const headers = { authorization: 'Bearer any', 'x-request-id': 'mine' };
  return { lines, poll: (query = '') => fetch(`${url}?${query}`, { headers }) };
}

it('one line for each request, with its id and result', async () => {
  const { lines, poll } = await serve();
  const answer = await poll();
  expect(answer.headers.get('link')).toContain(`<https://crm.example/crm${NEW_LEADS_PATH}?since=`);
  await poll('limit=0');
  const path = `/crm${NEW_LEADS_PATH}`;
  const common = {
    level: 'info',
    msg: 'request',
    requestId: 'mine',
    method: 'GET',
    path,
    tokenId: 'token-1',
  };
  expect(lines).toMatchObject([
    { ...common, status: 200, leads: 0 },
    { ...common, status: 400, code: 'invalid-query' },
  ]);
});

it('a line with the cause of a 5xx', async () => {
  const cause = new StoreUnavailableError('the database is unreachable');
  const { lines, poll } = await serve({ readPage: () => Promise.reject(cause) });
  expect((await poll()).status).toBe(503);
  expect(lines).toMatchObject([
    { level: 'error', requestId: 'mine', code: 'unavailable', err: cause },
    { level: 'info', requestId: 'mine', status: 503 },
  ]);
});
