import { expect, it, onTestFinished, vi } from 'vitest';
import { sendLeads } from '../../../testing/harness/intake.ts';
import { startService } from '../../../testing/harness/service.ts';
import { FairQueue } from '../../src/lib/fair.ts';

it('each turn of a large request is one of its company, which pauses after long ones', async () => {
  const test = await startService();
  const turns = vi.spyOn(FairQueue.prototype, 'run');
  onTestFinished(() => turns.mockRestore());
  const answers = Array.from({ length: 40 }, (_, n) => [`question${n}`, 'x'.repeat(1000)]);
  const leads = [{ customFields: Object.fromEntries(answers), unknownField: 'text' }];
  expect((await sendLeads(test, leads)).status).toBe(422);
  expect(new Set(turns.mock.calls.map(([companyId]) => companyId))).toEqual(new Set(['acme']));
});
