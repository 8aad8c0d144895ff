import { LEADS_PATH } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { sendLeads, startIntake, tokenWith } from '../../../testing/harness/intake.ts';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';

describe('401', () => {
  it.each([
    ['token-missing', {}],
    ['token-missing', { authorization: 'Basic YTpi' }],
    ['token-invalid', { authorization: 'Bearer nonsense' }],
  ] as const)('%s', async (code, headers) => {
    const test = await startIntake();
    const answer = await fetch(`${test.url}${LEADS_PATH}`, { method: 'POST', headers, body: '{}' });
    await expectProblem(answer, code);
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer realm="leadtap"/);
    expect(answer.headers.get('ratelimit')).toBeNull();
  });

  it('token-expired and token-revoked', async () => {
    const clock = manualClock();
    const test = await startIntake({ clock });
    const send = (token: string) =>
      fetch(`${test.url}${LEADS_PATH}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body: '{}',
      });
    const expired = await test.token('boss', { expiresInMs: 1000 });
    const revoked = await test.token('boss', { tokenId: 'revoked' });
    await test.store.revokeToken('revoked');
    clock.advance(2000);
    await expectProblem(await send(expired), 'token-expired');
    await expectProblem(await send(revoked), 'token-revoked');
  });

  it('a revocation counts from the next request on', async () => {
    const test = await startIntake();
    const authorization = `Bearer ${await tokenWith(test, 'boss', ['leads:write'])}`;
    const id = JSON.parse(Buffer.from(authorization.split('.')[1] ?? '', 'base64url').toString()).jti;
    const send = () => sendLeads(test, { firstName: 'Ada' }, { headers: { authorization } });
    expect((await send()).status).toBe(201);
    await test.store.revokeToken(id);
    await expectProblem(await send(), 'token-revoked');
    expect(await test.leads('boss')).toHaveLength(1);
  });

  it('failed tokens are limited by address, together with those of polls', async () => {
    const failedTokenPolicies = [{ name: 'failed-tokens', quota: 2, windowS: 60 }];
    const test = await startIntake({ limits: { failedTokenPolicies } });
    const headers = { authorization: 'Bearer guess' };
    const guess = () => sendLeads(test, { firstName: 'Ada' }, { headers });
    expect((await guess()).status).toBe(401);
    expect((await fetch(`${test.url}/automation/new-leads`, { headers })).status).toBe(401);
    const { violatedPolicies } = await expectProblem(await guess(), 'rate-limit-exceeded');
    expect(violatedPolicies).toEqual(['failed-tokens']);
    expect((await sendLeads(test, { firstName: 'Ada' })).status).toBe(201);
  });
});
