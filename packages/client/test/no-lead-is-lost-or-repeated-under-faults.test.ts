import fc from 'fast-check';
import { expect, inject, it } from 'vitest';
import { schedules } from './model/schedule.ts';
import { shareLiveService } from './model/shared-live-service.ts';
import { Trial } from './model/trial.ts';

/** What the store is matters little to a client: a few on the other one show that. */
const SCHEDULES = { sqlite: 150, postgres: 20 };

const parts = shareLiveService();

it('each lead is taken once, oldest first, whatever breaks, by the rules of SPEC.md', async () => {
  const { service, network } = parts();
  await fc.assert(
    fc.asyncProperty(schedules, async (schedule) => {
      const { taken, expected, broken } = await new Trial(service, network, schedule).finish();
      expect(broken).toEqual([]);
      expect(taken).toEqual(expected);
    }),
    { numRuns: SCHEDULES[inject('store')] },
  );
});
