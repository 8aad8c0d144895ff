import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sendSchedules } from './model/send-schedule.ts';
import { SendTrial } from './model/send-trial.ts';
import { shareLiveService } from './model/shared-live-service.ts';

const parts = shareLiveService();

it('each lead is stored once, whatever breaks, by the rules of SPEC.md', async () => {
  const { service, network } = parts();
  await fc.assert(
    fc.asyncProperty(sendSchedules, async (schedule) => {
      const { broken, lost, doubled } = await new SendTrial(service, network, schedule).finish();
      expect({ broken, lost, doubled }).toEqual({ broken: [], lost: [], doubled: [] });
    }),
    { numRuns: 30 },
  );
});
