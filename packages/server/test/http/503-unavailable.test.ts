import { once } from 'node:events';
import type { Socket } from 'node:net';
import { JwksUnavailableError, type PollStore, StoreUnavailableError } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { eventually } from '../faults/eventually.ts';
import { beforeQuestion } from '../harness/before-question.ts';
import { deferred } from '../harness/deferred.ts';
import { injectPoll, makeEndpoint } from '../harness/endpoint.ts';
import { expectProblem } from '../harness/problem.ts';
import { onlyAnswer, openSocket, parseAnswers, readToEnd } from '../harness/raw-http.ts';
import { startService } from '../harness/service.ts';

const METHODS: (keyof PollStore)[] = ['isTokenRevoked', 'findUser', 'readPage'];

describe('503 unavailable', () => {
  it.each(METHODS)('answers when the store is away for %s', async (method) => {
    const error = new StoreUnavailableError('/var/lib/leads.db is locked by process 7');
    const answer = await injectPoll(makeEndpoint({ [method]: () => Promise.reject(error) }));
    await expectProblem(answer, 'unavailable');
    expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    expect(answer.body).not.toMatch(/leads\.db|locked|process/);
  });

  it('answers when the keys of the identity provider cannot be had', async () => {
    const verifyToken = () => Promise.reject(new JwksUnavailableError('https://id.example.com is away'));
    const answer = await injectPoll(makeEndpoint({}, { verifyToken }));
    await expectProblem(answer, 'unavailable');
    expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    expect(answer.body).not.toContain('id.example.com');
  });

  it('is no failed token: an outage must not lock anybody out', async () => {
    const consumed: string[] = [];
    const failedTokens = {
      consume: async (key: string) => {
        consumed.push(key);
        return { windows: [], violated: [], retryAfterS: 0 };
      },
    };
    const isTokenRevoked = () => Promise.reject(new StoreUnavailableError('away'));
    await injectPoll(makeEndpoint({ isTokenRevoked }, { failedTokens }));
    expect(consumed).toEqual([]);
  });
});

describe('503 unavailable, while the service shuts down', () => {
  it('answers a request that arrives on a connection from before', async () => {
    const { url, token, stop, service } = await startService();
    const accepted = once(service.app.server, 'connection');
    const socket = await openSocket(url);
    const received = readToEnd(socket);
    // Half of a request keeps the connection from being idle, which would close it.
    socket.write(`GET /automation/new-leads HTTP/1.1\r\nHost: x\r\n`);
    const [serverSide]: Socket[] = await accepted;
    await eventually(() => expect(serverSide?.bytesRead).toBeGreaterThan(0));
    const stopped = stop();
    socket.write(`Authorization: Bearer ${await token('boss')}\r\n\r\n`);
    const answer = onlyAnswer(parseAnswers(await received));
    await expectProblem(answer, 'unavailable');
    expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    expect(answer.headers['connection']).toBe('close');
    await stopped;
  });

  it('does not answer a request that was being answered: it gets its leads', async () => {
    const held = deferred();
    const reading = deferred();
    const { poll, stop, store } = await startService();
    beforeQuestion(store, 'readPage', () => {
      reading.resolve();
      return held.promise;
    });
    const answer = poll('boss');
    await reading.promise;
    const stopped = stop();
    held.resolve();
    expect((await answer).status).toBe(200);
    await stopped;
  });
});
