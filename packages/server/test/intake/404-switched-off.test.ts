import { describe, expect, it } from 'vitest';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService } from '../../../testing/harness/service.ts';

const pathsOf = async (url: string): Promise<string[]> => {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: object };
  return Object.keys(document.paths);
};

describe('404', () => {
  it('openapi.json has it unless it is switched off', async () => {
    expect(await pathsOf((await startService()).url)).toContain('/leads');
    const off = await startService({ env: { LEADTAP_INTAKE: 'off' } });
    expect(await pathsOf(off.url)).not.toContain('/leads');
  });

  it('no-such-resource with a slash at the end: the message has the address without it', async () => {
    const { url } = await startService({ env: { LEADTAP_BASE_PATH: '/api' } });
    const { detail } = await expectProblem(
      await fetch(`${url}/leads/?access_token=x`, { method: 'POST', body: '{}' }),
      'no-such-resource',
    );
    expect(detail).toBe('Leave out the slash at the end of the address: `/api/leads`.');
  });

  it('no-such-resource outside of the base path, and below the path', async () => {
    const test = await startService({ env: { LEADTAP_BASE_PATH: '/api' } });
    const origin = new URL(test.url).origin;
    for (const url of [`${origin}/leads`, `${test.url}/leads/1`, `${test.url}/leadsx`])
      await expectProblem(await fetch(url, { method: 'POST', body: '{}' }), 'no-such-resource');
  });
});
