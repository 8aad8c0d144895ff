import { describe, expect, it } from 'vitest';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';

describe('403 professional-plan-required', () => {
  const shared = shareService();

  it('answers a user on another plan', async () => {
    const { poll } = shared();
    await expectProblem(await poll('starter'), 'professional-plan-required');
  });

  it.each(['PRO', 'PROFESSIONAL_TRIAL', 'ENTERPRISE'])('answers the plan %s', async (plan) => {
    const { poll, store } = shared();
    await store.updateUser('starter', { plan });
    await expectProblem(await poll('starter'), 'professional-plan-required');
  });

  it('ends and begins with the next request after the plan changed', async () => {
    const { poll, store, add } = shared();
    await add({ id: 'came-meanwhile' });
    await store.updateUser('starter', { plan: 'PROFESSIONAL' });
    expect(await (await poll('starter')).json()).toMatchObject([{ id: 'came-meanwhile' }]);
    await store.updateUser('starter', { plan: 'STARTER' });
    await expectProblem(await poll('starter'), 'professional-plan-required');
  });
});
