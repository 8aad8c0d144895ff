import { describe, expect, it } from 'vitest';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { leaveRequests, startService } from '../../../testing/harness/service.ts';

const scriptOf = (page: string): string => /src="(\.\/console\/[^"]+\.js)"/.exec(page)?.[1] ?? '';

describe('the console', () => {
  it.each(['', '/api/leads'])('is at the base URL, below the base path "%s"', async (basePath) => {
    const { url } = await startService({ env: basePath === '' ? {} : { LEADTAP_BASE_PATH: basePath } });
    const answer = await fetch(url);
    expect([answer.status, new URL(answer.url).pathname]).toEqual([200, `${basePath}/`]);
    const script = await fetch(new URL(scriptOf(await answer.text()), answer.url));
    expect([script.status, script.headers.get('content-type')]).toEqual([
      200,
      'text/javascript; charset=utf-8',
    ]);
    expect((await fetch(`${url}/docs`)).status).toBe(200);
  });

  it('needs no token, and uses nothing of the rate limits', async () => {
    const service = await startService();
    await leaveRequests(service, 'boss', 1);
    const authorization = `Bearer ${await service.token('boss')}`;
    for (const headers of [{}, { authorization }, { authorization: 'Bearer nonsense' }])
      for (let count = 0; count < 3; count += 1) {
        const answer = await fetch(service.url, { headers });
        expect([answer.status, answer.headers.get('ratelimit')]).toEqual([200, null]);
      }
    expect((await service.poll('boss')).status).toBe(200);
  });

  it('can be switched off; then / redirects to the docs, and its files have no address', async () => {
    const on = await startService();
    const off = await startService({ env: { LEADTAP_CONSOLE: 'off' } });
    const script = scriptOf(await (await fetch(on.url)).text());
    expect((await fetch(new URL(script, `${on.url}/`))).status).toBe(200);
    await expectProblem(await fetch(new URL(script, `${off.url}/`)), 'no-such-resource');
    const answer = await fetch(off.url, { redirect: 'manual' });
    expect([answer.status, answer.headers.get('location')]).toEqual([302, 'docs']);
  });
});
