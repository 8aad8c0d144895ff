import { onTestFinished } from 'vitest';
import { type Outcome, SCENARIO_KEYS, type ScenarioKey, TRIALS, type Way } from './outcomes.ts';
import type { MakePoller } from './poller.ts';
import { SCENARIOS } from './scenarios.ts';
import { World } from './world.ts';

export interface Trial {
  /** What the documentation says. */
  readonly expected: Outcome;
  readonly run: () => Promise<Outcome>;
}

/** One for every figure of the documentation. */
export const trialsOf = <Key extends string>(
  ways: Readonly<Record<Key, Way>>,
  pollers: Readonly<Record<Key, MakePoller>>,
): [title: string, trial: Trial][] =>
  (Object.keys(ways) as Key[]).flatMap((key) =>
    SCENARIO_KEYS.flatMap((scenario) => {
      const { name, outcomes } = ways[key];
      const expected = outcomes[scenario];
      const run = () => outcomeOf(pollers[key], scenario);
      return expected ? [[`${name}: ${TRIALS[scenario]}`, { expected, run }]] : [];
    }),
  );

async function outcomeOf(makePoller: MakePoller, key: ScenarioKey): Promise<Outcome> {
  const { skewMs = 0, happens } = SCENARIOS[key];
  const world = await World.begin(makePoller, skewMs, onTestFinished);
  await happens(world);
  return world.outcome();
}
