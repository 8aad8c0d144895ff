import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runInNewContext } from 'node:vm';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import { createPollHandler } from 'leadtap';
import { expect, it, onTestFinished } from 'vitest';
import { emptyStore } from '../../../testing/harness/endpoint.ts';

/** Not `instanceof Promise`, like the queries of query builders and the promises of other realms. */
const OtherPromise = runInNewContext('Promise') as PromiseConstructor;

const toOther = <T>(promise: Promise<T>): Promise<T> =>
  new OtherPromise((resolve, reject) => promise.then(resolve, reject));

it('a store and a verifier of tokens may return promises of another class', async () => {
  const handlePoll = createPollHandler({
    store: {
      ...emptyStore,
      findUser: (id) => toOther(emptyStore.findUser(id)),
      isTokenRevoked: (id) => toOther(emptyStore.isTokenRevoked(id)),
      readPage: (query) => toOther(emptyStore.readPage(query)),
    },
    verifyToken: () =>
      toOther(Promise.resolve({ kind: 'valid', token: { userId: 'boss', tokenId: 'token-1' } } as const)),
  });
  const server = createServer(handlePoll);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${NEW_LEADS_PATH}`;
  const answer = await fetch(url, { headers: { authorization: 'Bearer any' } });
  expect([answer.status, await answer.json()]).toEqual([200, []]);
});
