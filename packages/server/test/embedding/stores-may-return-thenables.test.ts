import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import { createPollHandler } from 'leadtap';
import { expect, it, onTestFinished } from 'vitest';
import { emptyStore } from '../../../testing/harness/endpoint.ts';

/** As query builders return them: typed as promises, but of a class of their own. */
function toThenable<T>(promise: Promise<T>): Promise<T> {
  const thenable: Promise<T> = {
    // biome-ignore lint/suspicious/noThenProperty: it is what is tested
    then: (...handlers) => promise.then(...handlers),
    catch: (handler) => promise.catch(handler),
    finally: (handler) => promise.finally(handler),
    [Symbol.toStringTag]: 'Query',
  };
  return thenable;
}

it('a store and a verifier of tokens may return thenables', async () => {
  const handlePoll = createPollHandler({
    store: {
      ...emptyStore,
      findUser: (id) => toThenable(emptyStore.findUser(id)),
      isTokenRevoked: (id) => toThenable(emptyStore.isTokenRevoked(id)),
      readPage: (query) => toThenable(emptyStore.readPage(query)),
    },
    verifyToken: () =>
      toThenable(Promise.resolve({ kind: 'valid', token: { userId: 'boss', tokenId: 'token-1' } } as const)),
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
