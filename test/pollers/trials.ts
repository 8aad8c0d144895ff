import { expect, it, onTestFinished } from 'vitest';
import { SCENARIO_KEYS, TRIALS, type Way } from '../../scripts/poller-outcomes.ts';
import type { MakePoller } from './poller.ts';
import { SCENARIOS } from './scenarios.ts';
import { World } from './world.ts';

/** A test for every figure of the documentation. */
export function tryAll(way: Way, makePoller: MakePoller): void {
  for (const key of SCENARIO_KEYS) {
    const expected = way.outcomes[key];
    if (!expected) continue;
    const { skewMs = 0, happens } = SCENARIOS[key];
    it(TRIALS[key], async () => {
      const world = await World.begin(makePoller, skewMs, onTestFinished);
      await happens(world);
      expect(await world.outcome()).toEqual(expected);
    });
  }
}
