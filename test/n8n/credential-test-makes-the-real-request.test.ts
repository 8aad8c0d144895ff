import { describe, expect, it } from 'vitest';
import { LeadtapApi } from '../../packages/n8n-nodes-leadtap/credentials/LeadtapApi.credentials.ts';
import { startService } from '../../packages/server/test/harness/service.ts';
import { authenticatedRequest, resolve } from './authenticated-request.ts';
import { makeWorkflow } from './workflow.ts';

type Credential = { baseUrl: string; accessToken: string };

/** What n8n does for the button “Test”: the status of the answer, and the sentence that it shows for it. */
async function testCredential(credential: Credential): Promise<string> {
  const { request, rules = [] } = new LeadtapApi().test;
  const { statusCode } = await authenticatedRequest(credential, {
    baseURL: resolve(request.baseURL, credential),
    url: String(request.url),
    qs: { ...request.qs },
    ignoreHttpStatusErrors: true,
  });
  if (statusCode === 200) return 'works';
  const rule = rules.find(
    ({ type, properties }) => type === 'responseCode' && properties.value === statusCode,
  );
  return String(rule?.properties.message);
}

describe('the test of a credential says', () => {
  it.each([
    ['boss', 'works'],
    ['starter', 'The Professional plan is required to poll new leads'],
    ['nobody', 'The user of this token does not exist, or the base URL is wrong'],
  ])('for %s: %s', async (user, verdict) => {
    const service = await startService();
    const credential = { baseUrl: service.url, accessToken: await service.token(user) };
    expect(await testCredential(credential)).toBe(verdict);
  });

  it('that a token is not accepted, and that there are too many requests', async () => {
    const service = await startService();
    const credential = { baseUrl: service.url, accessToken: 'made-up' };
    expect(await testCredential(credential)).toMatch(/not accepted/);
    const accessToken = await service.token('boss');
    let verdict = 'works';
    while (verdict === 'works') verdict = await testCredential({ baseUrl: service.url, accessToken });
    expect(verdict).toMatch(/Too many requests/);
  });
});

it.each(['/', '//'])('a base URL may have a path and end in %s', async (end) => {
  const service = await startService({ env: { LEADTAP_BASE_PATH: '/api' } });
  const credential = { baseUrl: service.url + end, accessToken: await service.token('boss') };
  expect(service.url).toMatch(/\/api$/);
  expect(await testCredential(credential)).toBe('works');
  expect(await makeWorkflow({ credential }).activate()).toEqual([]);
});
