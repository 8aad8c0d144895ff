import { expect, it } from 'vitest';
import { openPage } from '../../testing/browser/page.ts';
import { countHeld, untilHeld } from '../../testing/harness/long-polls.ts';
import { leaveRequests, startService } from '../../testing/harness/service.ts';

/** A short window, so that the client itself would send the next request sooner. */
const HOUR = [{ name: 'hour', quota: 100, windowS: 300 }];

it.each([
  ['half', 45, 10],
  ['a fifth', 15, 30],
])(
  'with less than %s of the hour left, the page waits between two requests for leads',
  async (_part, left, seconds) => {
    const service = await startService({ limits: { userPolicies: HOUR } });
    await leaveRequests(service, 'boss', left);
    const page = await openPage(service.url);
    // The clock of the page stands, so that only the test decides how much time passes.
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    await page.evaluate(`location.hash = '#token=${await service.token('boss')}'`);
    await untilHeld(service);
    await page.evaluate(`location.hash = '#leads'`);
    let passedMs = 0;
    const pass = async (ms: number) => {
      await page.clock.runFor(ms);
      passedMs += ms;
    };
    const answered = page.waitForEvent('requestfinished');
    await service.add({ fields: { firstName: 'Ada' } });
    await answered;
    while ((await page.getByText('New lead: Ada').count()) === 0 && passedMs < 1000) await pass(10);
    expect(await page.getByText('New lead: Ada').count()).toBe(1);
    await pass((seconds - 1) * 1000 - passedMs);
    expect(await countHeld(service)).toBe(0);
    await pass(1000);
    await untilHeld(service);
  },
);
