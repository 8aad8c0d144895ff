import { describe, expect, it } from 'vitest';
import { shareService } from '../../../packages/server/test/harness/shared-service.ts';
import { leadtapAuth } from './piece.ts';

describe('saving the connection', () => {
  const shared = shareService();
  const save = async (userId: string, { path = '', cut = 0 } = {}) => {
    const { url, token } = shared();
    const whole = await token(userId);
    const auth = { baseUrl: url + path, token: whole.slice(0, whole.length - cut) };
    return leadtapAuth.validate?.({ auth, server: { apiUrl: '', publicUrl: '' } });
  };

  it.each(['', '/'])('works, with "%s" at the end of the address', async (path) => {
    expect(await save('boss', { path })).toEqual({ valid: true });
  });

  it.each([
    ['a token that was cut', 'boss', { cut: 4 }, /^Leadtap answered 401: The token/],
    ['another plan', 'starter', {}, /^Leadtap answered 403: .*Professional plan/],
    ['a user who is gone', 'nobody', {}, /^Leadtap answered 404: .*user/],
    ['a wrong path', 'boss', { path: '/wrong' }, /^Leadtap answered 404: .*Check the base address/],
    ['another page', 'boss', { path: '/docs?' }, /^This is not the answer of a Leadtap/],
  ])('%s is explained', async (_, userId, how, message) => {
    expect(await save(userId, how)).toEqual({ valid: false, error: expect.stringMatching(message) });
  });
});
