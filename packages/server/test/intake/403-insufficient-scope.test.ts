import { LEADS_PATH, NEW_LEADS_PATH } from '@leadtap/contract';
import { TOKEN_SCOPES, type TokenScope } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { INTAKE_ON, sendLeads, tokenWith } from '../../../testing/harness/intake.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';

const service = shareService(INTAKE_ON);

const poll = async (scopes: readonly TokenScope[], method = 'GET') =>
  fetch(`${service().url}${NEW_LEADS_PATH}`, {
    method,
    headers: { authorization: `Bearer ${await tokenWith(service(), 'boss', scopes)}` },
  });

describe('403 insufficient-scope', () => {
  it('a token without leads:write sends no leads', async () => {
    const answer = await sendLeads(service(), { firstName: 'Ada' }, { scopes: ['leads:read'] });
    const { detail } = await expectProblem(answer, 'insufficient-scope');
    expect(detail).toBe('This token may not send leads. Use a token with the scope `leads:write`.');
    expect(answer.headers.get('www-authenticate')).toBe(
      'Bearer realm="leadtap", error="insufficient_scope", error_description="The scope of the access token is not sufficient", scope="leads:write"',
    );
    expect(answer.headers.get('ratelimit')).toMatch(/^"intake";/);
    expect(await service().leads('boss')).toEqual([]);
  });

  it('nor does a token without the claim', async () => {
    const authorization = `Bearer ${await service().token('boss')}`;
    const answer = await fetch(`${service().url}${LEADS_PATH}`, {
      method: 'POST',
      headers: { authorization },
      body: '{}',
    });
    await expectProblem(answer, 'insufficient-scope');
  });

  it('a token without leads:read polls nothing', async () => {
    const answer = await poll(['leads:write']);
    const { detail } = await expectProblem(answer, 'insufficient-scope');
    expect(detail).toBe('This token may not read leads. Use a token with the scope `leads:read`.');
    expect(answer.headers.get('www-authenticate')).toMatch(
      /error="insufficient_scope",.* scope="leads:read"$/,
    );
    expect(answer.headers.get('ratelimit')).toMatch(/^"minute";/);
    expect((await poll(['leads:write'], 'HEAD')).status).toBe(403);
    expect((await poll([])).status).toBe(403);
  });

  it('a token with both does both', async () => {
    expect((await poll(TOKEN_SCOPES)).status).toBe(200);
    const answer = await sendLeads(
      service(),
      { id: 'both', firstName: 'Ada' },
      { userId: 'rival', scopes: TOKEN_SCOPES },
    );
    expect(answer.status).toBe(201);
  });
});
