import type { Organisation } from 'leadtap';
import { expect, it } from 'vitest';
import { runCrashTrial } from '../../../testing/delivery-trial/intake/crash-trial.ts';
import { installService } from '../../../testing/harness/installed-service.ts';

const COMPANIES = ['acme', 'globex'];
const userIdsOf = (companyId: string) => Array.from({ length: 40 }, (_, index) => `${companyId}-${index}`);

const ORGANISATION: Organisation = {
  companies: COMPANIES.map((id) => ({
    id,
    name: id,
    branches: [],
    users: userIdsOf(id).map((userId) => ({
      id: userId,
      plan: 'PROFESSIONAL',
      accessLevel: 'COMPANY',
      branchId: null,
      departmentId: null,
    })),
  })),
};

it('each acknowledged lead is delivered exactly once, and no other one twice, while the service is killed', async () => {
  const { urls, token, kill } = await installService({ organisation: ORGANISATION });
  const verdict = await runCrashTrial({
    urls,
    users: Object.fromEntries(COMPANIES.map((id) => [id, userIdsOf(id)])),
    token,
    kill,
    senders: 8,
    requests: 300,
    requestsPerKill: 120,
    seed: 3,
  });
  const { lost, doubled, unknown } = verdict;
  expect({ lost, doubled, unknown }).toEqual({ lost: [], doubled: [], unknown: [] });
  expect(verdict.polled).toBe(verdict.acknowledged + verdict.abandonedStored);
  // The trial has done what it is for.
  expect(verdict.kills).toBeGreaterThan(0);
  expect(verdict.retries).toBeGreaterThan(0);
  expect(verdict.acknowledged).toBeGreaterThan(300);
});
