import { PROBLEMS } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { startService } from '../../../packages/testing/harness/service.ts';
import { shareService } from '../../../packages/testing/harness/shared-service.ts';
import { serveAnswer } from '../../../packages/testing/integrations/foreign-answers.ts';
import { addLeads, connectionOf } from '../../../packages/testing/integrations/new-leads.ts';
import { PipedreamSource } from './pipedream.ts';

describe('a run that fails', () => {
  const shared = shareService();
  const run = (baseUrl: string, token: string) => new PipedreamSource({ baseUrl, token }).run();

  it.each([
    ['starter', '', /^Leadtap answered 403: .*Professional plan/],
    ['unknown-user', '', /^Leadtap answered 404: .*user/],
    ['boss', '/wrong', /^Leadtap answered 404: .*Check the base address/],
    ['boss', '/docs?', /answered 200, but not with a list of leads/],
  ])('says what is wrong: %s%s', async (userId, path, message) => {
    await expect(run(shared().url + path, await shared().token(userId))).rejects.toThrow(message);
  });

  it('says that the token has expired or is not valid', async () => {
    const expired = await shared().token('boss', { expiresInMs: -120_000 });
    await expect(run(shared().url, expired)).rejects.toThrow(PROBLEMS['token-expired'].detail);
    await expect(run(shared().url, 'ey.a.b')).rejects.toThrow(PROBLEMS['token-invalid'].detail);
    await expect(run(shared().url, 'ey.a\nb.c')).rejects.toThrow(/access token .* line break/);
  });

  it('says what a base address looks like', async () => {
    for (const baseUrl of ['', 'our leads', 'leads.example.com', 'ftp://leads.example.com', 'https://'])
      await expect(run(baseUrl, 'any')).rejects.toThrow(
        /is not a base address.*https:\/\/leads\.example\.com/,
      );
  });

  it('says where the service was looked for, why it was not found, and what to check', async () => {
    const service = await startService();
    await service.stop();
    const { host } = new URL(service.url);
    await expect(run(service.url, 'any')).rejects.toThrow(
      new RegExp(`cannot be reached at ${host} \\(ECONNREFUSED\\).*base address.*https.*DNS`),
    );
  });

  it.each([401, 403, 404, 429, 502, 503])('does not show the page of status %i', async (status) => {
    const baseUrl = await serveAnswer({ status, type: 'text/html', body: '<h1>Sorry</h1>' });
    await expect(run(baseUrl, 'any')).rejects.toThrow(
      new RegExp(`^127\\.0\\.0\\.1:\\d+ answered ${status}, .*base address`),
    );
  });
});

// `deploy` may have failed, or never have run for a source that was made through Pipedream's API.
it('a run before deploy starts as deploy does', async () => {
  const service = await startService();
  const before = await addLeads(service, 13, 'before');
  const source = new PipedreamSource(await connectionOf(service));
  await source.run();
  const ids = await addLeads(service, 2, 'new');
  await source.run();
  expect(source.emitted.map(({ id }) => id)).toEqual([...before.slice(-10), ...ids]);
});
