import { RATE_LIMITS } from '@leadtap/contract';
import { expect, it } from 'vitest';
import { manualClock } from '../../../packages/testing/harness/manual-clock.ts';
import { startService } from '../../../packages/testing/harness/service.ts';
import { addLeads, connectionOf, leaveRequests } from '../../../packages/testing/integrations/new-leads.ts';
import { idsOf } from './delivered.ts';
import { Scenario } from './interpreter/scenario.ts';

it.each([0, 2])('a 429 after %i pages delays the run, and no lead is lost', async (pages) => {
  const clock = manualClock();
  const service = await startService({ clock });
  const ids = await addLeads(service, 350, 'lead');
  const scenario = new Scenario({
    connection: await connectionOf(service),
    startAt: '1970-01-01',
    limit: 1000,
  });
  await leaveRequests(service, pages);
  for (let run = 0; run < 5; run += 1) {
    const answer = await scenario.run();
    expect(answer).toMatchObject({ kind: 'delayed', error: { type: 'RateLimitError' } });
    expect(answer).toHaveProperty('error.message', expect.stringMatching(/^\[429\] .* passes in \d+ s\.$/));
  }
  expect(scenario.active).toBe(true);
  clock.advance(RATE_LIMITS.minute.windowS * 1000);
  expect(idsOf(await scenario.run())).toEqual(ids);
});

it.each([
  ['starter', 'InvalidConfigurationError', /^\[403\] .*Professional plan.*\(request \S+\)$/],
  ['unknown-user', 'InvalidConfigurationError', /^\[404\] .*the user of the token.*\(request \S+\)$/],
])('what needs a person switches it off at once, and says why: %s', async (userId, type, message) => {
  const service = await startService();
  const scenario = new Scenario({ connection: await connectionOf(service, userId), startAt: '1970-01-01' });
  const run = await scenario.run();
  expect(run).toMatchObject({ kind: 'failed', error: { type, message: expect.stringMatching(message) } });
  expect(scenario.active).toBe(false);
});
