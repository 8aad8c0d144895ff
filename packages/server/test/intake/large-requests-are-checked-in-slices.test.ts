import { expect, it } from 'vitest';
import { receiveLeads } from '../../src/leads/intake.ts';
import type { User } from '../../src/store/records.ts';
import type { WriteAllOutcome } from '../../src/store/store.ts';

const user: User = {
  id: 'boss',
  companyId: 'acme',
  email: 'boss@example.com',
  name: 'Boss',
  plan: 'STARTER',
  accessLevel: 'COMPANY',
  branchId: null,
  departmentId: null,
};

it('other requests are answered between two slices of 1,000 leads', async () => {
  let turns = 0;
  let isDone = false;
  const countTurn = () => {
    turns += 1;
    if (!isDone) setImmediate(countTurn);
  };
  setImmediate(countTurn);
  let turnsBeforeWrite = 0;
  const writeAllLeads = async (): Promise<WriteAllOutcome> => {
    turnsBeforeWrite = turns;
    return { kind: 'written', results: [] };
  };
  const value = Array.from({ length: 1000 }, (_, n) => ({ id: `${n}`, firstName: 'Ada' }));
  const options = { idempotencyKey: undefined, body: Buffer.alloc(0), clock: Date.now };
  await receiveLeads({ value }, { store: { writeAllLeads }, user, sender: { userId: 'boss' }, ...options });
  isDone = true;
  expect(turnsBeforeWrite).toBeGreaterThanOrEqual(30);
});
