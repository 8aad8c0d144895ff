import { JwksUnavailableError, StoreUnavailableError } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { injectPoll, makeEndpoint, type StubQueries } from '../../../testing/harness/endpoint.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';

const METHODS: (keyof StubQueries)[] = ['findUser', 'readPage'];

describe('503 unavailable', () => {
  it.each(METHODS)('answers if the store is unavailable for %s', async (method) => {
    const error = new StoreUnavailableError('/var/lib/leads.db is locked by process 7');
    const answer = await injectPoll(makeEndpoint({ [method]: () => Promise.reject(error) }));
    await expectProblem(answer, 'unavailable');
    expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    expect(answer.body).not.toMatch(/leads\.db|locked|process/);
  });

  it('answers if the keys of the identity provider cannot be fetched', async () => {
    const verifyToken = () =>
      Promise.reject(new JwksUnavailableError('https://id.example.com is unreachable'));
    const answer = await injectPoll(makeEndpoint({}, { verifyToken }));
    await expectProblem(answer, 'unavailable');
    expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    expect(answer.body).not.toContain('id.example.com');
  });

  it('does not count as a failed token: an outage must not lock clients out', async () => {
    const consumed: string[] = [];
    const failedTokens = {
      consume: async (key: string) => {
        consumed.push(key);
        return { windows: [], violated: [], retryAfterS: 0 };
      },
    };
    const isTokenRevoked = () => Promise.reject(new StoreUnavailableError('unreachable'));
    await injectPoll(makeEndpoint({ isTokenRevoked }, { failedTokens }));
    expect(consumed).toEqual([]);
  });
});
