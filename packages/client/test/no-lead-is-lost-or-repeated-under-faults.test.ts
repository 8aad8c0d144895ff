import fc from 'fast-check';
import { beforeAll, expect, inject, it } from 'vitest';
import { FaultyNetwork } from './model/faulty-network.ts';
import { LiveService } from './model/live-service.ts';
import { schedules } from './model/schedule.ts';
import { Trial } from './model/trial.ts';

const SCHEDULES = { sqlite: 1_000, postgres: 20 };

let service: LiveService;
let network: FaultyNetwork;

beforeAll(async () => {
  const cleanUps: (() => void | Promise<void>)[] = [];
  const whenDone = (cleanUp: () => void | Promise<void>) => void cleanUps.unshift(cleanUp);
  service = await LiveService.start(whenDone);
  network = await FaultyNetwork.start(whenDone);
  return async () => {
    for (const cleanUp of cleanUps) await cleanUp();
  };
});

it('each lead is taken once, oldest first, whatever breaks, by the rules of SPEC.md', async () => {
  await fc.assert(
    fc.asyncProperty(schedules, async (schedule) => {
      const { taken, expected, broken } = await new Trial(service, network, schedule).finish();
      expect(broken).toEqual([]);
      expect(taken).toEqual(expected);
    }),
    { numRuns: SCHEDULES[inject('store')] },
  );
}, 300_000);
