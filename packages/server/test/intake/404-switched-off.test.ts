import { LEADS_PATH } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { sendLeads, startIntake } from '../../../testing/harness/intake.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService } from '../../../testing/harness/service.ts';

const pathsOf = async (url: string): Promise<string[]> => {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: object };
  return Object.keys(document.paths);
};

describe('404', () => {
  it.each([{}, { LEADTAP_INTAKE: 'off' }, { LEADTAP_INTAKE: 'off', LEADTAP_BASE_PATH: '/api' }])(
    'no-such-resource unless it is switched on: %o',
    async (env) => {
      const test = await startService({ env });
      const { detail } = await expectProblem(await sendLeads(test, { firstName: 'Ada' }), 'no-such-resource');
      expect(detail).toContain('`LEADTAP_INTAKE=on`');
      await expectProblem(await fetch(`${test.url}${LEADS_PATH}`), 'no-such-resource');
      expect(await test.leads('boss')).toEqual([]);
      expect(await pathsOf(test.url)).not.toContain('/leads');
    },
  );

  it('openapi.json has it if it is switched on', async () => {
    const { url } = await startIntake();
    expect(await pathsOf(url)).toContain('/leads');
  });

  it('no-such-resource with a slash at the end: the message has the address without it', async () => {
    const { url } = await startIntake({ env: { LEADTAP_BASE_PATH: '/api' } });
    const { detail } = await expectProblem(
      await fetch(`${url}/leads/?access_token=x`, { method: 'POST', body: '{}' }),
      'no-such-resource',
    );
    expect(detail).toBe('Leave out the slash at the end of the address: `/api/leads`.');
  });

  it('no-such-resource outside of the base path, and below the path', async () => {
    const test = await startIntake({ env: { LEADTAP_BASE_PATH: '/api' } });
    const origin = new URL(test.url).origin;
    for (const url of [`${origin}/leads`, `${test.url}/leads/1`, `${test.url}/leadsx`])
      await expectProblem(await fetch(url, { method: 'POST', body: '{}' }), 'no-such-resource');
  });

  it('user-not-found for a user who does not exist, or was removed', async () => {
    const test = await startIntake();
    const unknown = await sendLeads(test, { firstName: 'Ada' }, { userId: 'unknown' });
    expect(unknown.headers.get('ratelimit')).toBe('"intake";r=599;t=60');
    await expectProblem(unknown, 'user-not-found');
    expect((await sendLeads(test, { firstName: 'Ada' }, { userId: 'seller' })).status).toBe(201);
    await test.store.removeUser('seller');
    await expectProblem(await sendLeads(test, { firstName: 'Ada' }, { userId: 'seller' }), 'user-not-found');
  });
});
