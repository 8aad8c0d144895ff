import { describe, expect, it } from 'vitest';
import { shareService } from '../../../packages/testing/harness/shared-service.ts';
import { testConnection } from './interpreter/scenario.ts';

describe('saving the connection', () => {
  const shared = shareService();
  const connect = async (userId: string, path = '') => {
    const { url, token } = shared();
    return testConnection({ baseUrl: url + path, token: await token(userId) });
  };

  it('shows the address while there is no lead, then the name of the company', async () => {
    await expect(connect('rival')).resolves.toBe(shared().url);
    await shared().add({ companyId: 'globex' });
    await expect(connect('rival')).resolves.toBe('Globex');
  });

  it.each([
    ['starter', '', 'RuntimeError', /^\[403\] .*Professional plan/],
    ['unknown-user', '', 'InvalidConfigurationError', /^\[404\] .*the user of the token does not exist/],
    ['boss', '/wrong', 'InvalidConfigurationError', /^\[404\] The base address is wrong/],
  ])('%s at "%s": %s', async (userId, path, type, message) => {
    await expect(connect(userId, path)).rejects.toMatchObject({
      type,
      message: expect.stringMatching(message),
    });
  });

  it('a token that was cut is an access token problem', async () => {
    const token = (await shared().token('boss')).slice(0, -4);
    await expect(testConnection({ baseUrl: shared().url, token })).rejects.toMatchObject({
      type: 'InvalidAccessTokenError',
      message: expect.stringMatching(/^\[401\] The token/),
    });
  });
});
