import { NEW_LEADS_PATH } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';

describe('401 token-missing', () => {
  const shared = shareService();

  it.each([
    ['no Authorization header', undefined],
    ['an empty one', ''],
    ['the scheme alone', 'Bearer'],
    ['the scheme and spaces', 'Bearer   '],
    ['another scheme', 'Basic dXNlcjpwYXNz'],
    ['a scheme that begins alike', 'Bearerish abc'],
    ['a token without a scheme', 'eyJhbGciOiJIUzI1NiJ9.e30.c2ln'],
  ])('answers %s', async (_what, authorization) => {
    const headers = authorization === undefined ? {} : { authorization };
    const answer = await shared().inject({ url: NEW_LEADS_PATH, headers });
    await expectProblem(answer, 'token-missing');
    // RFC 6750, section 3.1: without credentials the challenge carries no error code.
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="leadtap"');
  });

  it('says that the word Bearer is missing before a token', async () => {
    const { url, token } = shared();
    const headers = { authorization: await token('boss') };
    const { detail } = await expectProblem(
      await fetch(`${url}${NEW_LEADS_PATH}`, { headers }),
      'token-missing',
    );
    expect(detail).toMatch(/^The header `Authorization` has a token alone. Write `Bearer`/);
  });

  it('never reads a token from the query', async () => {
    const { url, token } = shared();
    const given = await token('boss');
    const response = await fetch(`${url}${NEW_LEADS_PATH}?access_token=${given}&token=${given}`);
    await expectProblem(response, 'token-missing');
  });

  it('a header full of spaces costs no more than another', async () => {
    const { inject } = shared();
    const time = async (authorization: string) => {
      const before = process.cpuUsage();
      for (let i = 0; i < 5; i += 1) await inject({ url: NEW_LEADS_PATH, headers: { authorization } });
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    await time(`Bearer ${'x'.repeat(15_000)}`);
    const plain = await time(`Bearer ${'x'.repeat(15_000)}`);
    // Quadratic time is hundreds of times as much: this is time of the processor, in microseconds.
    expect(await time(`Bearer x${' '.repeat(15_000)}x`)).toBeLessThan(20 * plain + 100_000);
  });
});
