import { describe, expect, it } from 'vitest';
import { startService } from '../../../packages/testing/harness/service.ts';
import { shareService } from '../../../packages/testing/harness/shared-service.ts';
import { serveAnswer } from '../../../packages/testing/integrations/foreign-answers.ts';
import { connectionOf } from '../../../packages/testing/integrations/new-leads.ts';
import { leadtapAuth } from './piece.ts';

const validate = (auth: { baseUrl: string; token: string }) =>
  leadtapAuth.validate?.({ auth, server: { apiUrl: '', publicUrl: '' } });

describe('saving the connection', () => {
  const shared = shareService();
  const save = async (userId: string, { path = '', cut = 0 } = {}) => {
    const { url, token } = shared();
    const whole = await token(userId);
    return validate({ baseUrl: url + path, token: whole.slice(0, whole.length - cut) });
  };

  it.each(['', '/'])('works, with "%s" at the end of the address', async (path) => {
    expect(await save('boss', { path })).toEqual({ valid: true });
  });

  it.each([
    ['a token that was cut', 'boss', { cut: 4 }, /^Leadtap answered 401: The token/],
    ['another plan', 'starter', {}, /^Leadtap answered 403: .*Professional plan/],
    ['a user who was removed', 'unknown-user', {}, /^Leadtap answered 404: .*user/],
    ['a wrong path', 'boss', { path: '/wrong' }, /^Leadtap answered 404: .*Check the base address/],
    ['another page', 'boss', { path: '/docs?' }, /answered 200, but not with a list of leads/],
  ])('%s is explained', async (_, userId, how, message) => {
    expect(await save(userId, how)).toEqual({ valid: false, error: expect.stringMatching(message) });
  });

  it('works with spaces and a line break around what was pasted', async () => {
    const { url, token } = shared();
    expect(await validate({ baseUrl: ` ${url}\n`, token: ` ${await token('boss')}\n` })).toEqual({
      valid: true,
    });
  });

  it.each(['', 'our leads', 'leads.example.com', 'ftp://leads.example.com', 'https://'])(
    'the base address "%s" is refused with an example of a right one',
    async (baseUrl) => {
      expect(await validate({ baseUrl, token: 'any' })).toEqual({
        valid: false,
        error: expect.stringMatching(/is not a base address\. .*https:\/\/leads\.example\.com/),
      });
    },
  );

  it('a token that was pasted with a line break in it is refused as one', async () => {
    expect(await validate({ baseUrl: shared().url, token: 'ey.a\nb.c' })).toEqual({
      valid: false,
      error: expect.stringMatching(/access token .* line break/),
    });
  });

  it('a service that cannot be reached is named, with what to check', async () => {
    const service = await startService();
    const connection = await connectionOf(service);
    await service.stop();
    const { host } = new URL(service.url);
    expect(await validate(connection)).toEqual({
      valid: false,
      error: expect.stringMatching(
        new RegExp(`cannot be reached at ${host} \\(ECONNREFUSED\\).*base address.*https.*DNS`),
      ),
    });
  });

  it('https at an address that speaks http is named, with what to check', async () => {
    const baseUrl = shared().url.replace('http:', 'https:');
    expect(await validate({ baseUrl, token: 'any' })).toEqual({
      valid: false,
      error: expect.stringMatching(/cannot be reached at .*https or http/),
    });
  });

  it.each([401, 403, 404, 429, 502, 503])('a page with status %i is not shown raw', async (status) => {
    const baseUrl = await serveAnswer({ status, type: 'text/html', body: '<h1>Sorry</h1>' });
    expect(await validate({ baseUrl, token: 'any' })).toEqual({
      valid: false,
      error: expect.stringMatching(new RegExp(`^127\\.0\\.0\\.1:\\d+ answered ${status}, .*base address`)),
    });
  });
});
