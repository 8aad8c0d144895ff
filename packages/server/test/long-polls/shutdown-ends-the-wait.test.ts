import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createPollHandler, type PollObserver } from 'leadtap';
import { describe, expect, it, onTestFinished } from 'vitest';
import { beforeQuestion } from '../../../testing/harness/before-question.ts';
import { deferred } from '../../../testing/harness/deferred.ts';
import { noLimit } from '../../../testing/harness/endpoint.ts';
import { startService } from '../../../testing/harness/service.ts';
import { appliedOf, startWaitingService } from './support/long-polls-service.ts';

const FOREVER = { shutdownLimitMs: 3_600_000 };

async function expectEmptyAndClosed(answer: Promise<Response>): Promise<void> {
  const response = await answer;
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual([]);
  expect(response.headers.get('connection')).toBe('close');
  expect(appliedOf(response)).toBe('wait=50');
}

describe('a service that stops', () => {
  it('answers the requests that wait at once', async () => {
    const { wait, untilWaiting, stop } = await startWaitingService({ lifecycle: FOREVER });
    const answers = [wait('boss'), wait('seller'), wait('rival')];
    await untilWaiting(3);
    await stop();
    for (const answer of answers) await expectEmptyAndClosed(answer);
  });

  it('does not wait for a database that hangs', async () => {
    const { wait, untilWaiting, stop, store } = await startWaitingService({ lifecycle: FOREVER });
    const answer = wait('boss');
    await untilWaiting(1);
    const [asked, release] = [deferred(), deferred()];
    beforeQuestion(store, 'revalidate', () => {
      asked.resolve();
      return release.promise;
    });
    await asked.promise;
    const stopped = stop();
    await expectEmptyAndClosed(answer);
    release.resolve();
    await stopped;
  });

  it('lets no further request wait while it drains its connections', async () => {
    const drained = deferred();
    const service = await startWaitingService({ lifecycle: FOREVER, drain: () => drained.promise });
    const answer = service.wait('boss');
    await service.untilWaiting(1);
    const stopped = service.stop();
    await expectEmptyAndClosed(answer);
    const late = await service.wait('boss');
    expect(await late.json()).toEqual([]);
    expect(appliedOf(late)).toBeNull();
    expect(late.headers.get('connection')).toBe('close');
    drained.resolve();
    await stopped;
  });
});

describe('an application that embeds the endpoint', () => {
  /** The options of an embedded endpoint on the store of a service, and a promise for its first waiting request. */
  async function embedded() {
    const { store } = await startService();
    const isWaiting = deferred();
    const observer: PollObserver = { observe: () => undefined, observeWaiting: isWaiting.resolve };
    const verifyToken = async () => ({ kind: 'valid', token: { userId: 'boss', tokenId: 'one' } }) as const;
    return { options: { store, verifyToken, observer, limiter: noLimit }, isWaiting: isWaiting.promise };
  }

  const wait = (url: string) =>
    fetch(`${url}/automation/new-leads?since=2026-01-01`, {
      headers: { authorization: 'Bearer any', prefer: 'wait=50' },
    });

  it('ends the waits of the request listener with its signal', async () => {
    const { options, isWaiting } = await embedded();
    const stop = new AbortController();
    const server = createServer(createPollHandler({ ...options, stopSignal: stop.signal }));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const answer = wait(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await isWaiting;
    stop.abort();
    await expectEmptyAndClosed(answer);
  });
});
