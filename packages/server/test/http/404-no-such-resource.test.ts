import { describe, expect, it } from 'vitest';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { sendRawOnce } from '../../../testing/harness/raw-http.ts';
import { startService } from '../../../testing/harness/service.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';

describe('404 no-such-resource', () => {
  const shared = shareService();

  it.each([
    '/automation',
    '/automation/',
    '/automation/new-leads/',
    '/automation/new-leads/lead-1',
    '/automation/new-lead',
    '/Automation/New-Leads',
    '//automation/new-leads',
    '/new-leads',
    '/api/automation/new-leads',
    '/metrics',
    '/favicon.ico',
    '/.env',
    '/automation/new-leads%3Flimit=1',
    '/..%2f..%2fetc/passwd',
  ])('answers %s', async (path) => {
    const { url, token } = shared();
    const authorization = `Bearer ${await token('boss')}`;
    await expectProblem(await fetch(`${url}${path}`, { headers: { authorization } }), 'no-such-resource');
  });

  it('answers every method there, and reads no body', async () => {
    const { url } = shared();
    // The body never comes: an answer that waited for it would not come either.
    const answer = await sendRawOnce(
      url,
      'POST /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 1000000\r\n\r\n{',
    );
    await expectProblem(answer, 'no-such-resource');
  });

  it('answers the plain path when there is a base path', async () => {
    const { url, poll } = await startService({ env: { LEADTAP_BASE_PATH: '/api/v1' } });
    expect(url.endsWith('/api/v1')).toBe(true);
    expect((await poll('boss')).status).toBe(200);
    const { origin } = new URL(url);
    await expectProblem(await fetch(`${origin}/automation/new-leads`), 'no-such-resource');
    await expectProblem(await fetch(`${origin}/api/automation/new-leads`), 'no-such-resource');
    await expectProblem(await fetch(`${origin}/api/v1x/automation/new-leads`), 'no-such-resource');
  });
});
