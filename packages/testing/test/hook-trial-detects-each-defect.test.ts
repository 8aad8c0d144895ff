// @nightly and after a change of packages/testing/delivery-trial/hooks/ packages/server/src/hooks/ packages/testing/harness/hook-trial.ts
import { expect, it } from 'vitest';
import { findingsOf, lossesOf, runTrial } from '../harness/hook-trial.ts';

it('an event that failed counts as announced', async () => {
  const verdict = await runTrial({ instances: 1, leads: 60, seconds: 1, mutation: 'announced-by-failure' });
  expect(lossesOf(verdict)).not.toEqual([]);
});

it.each([
  ['moves the position with a failure', 'moved-by-failure', 'lost'],
  ['repeats a request with other leads', 'other-repetition', 'otherIds'],
  ['ignores the access level', 'ignored-access', 'hidden'],
] as const)('a sender that %s', async (_name, mutation, finding) => {
  const verdict = await runTrial({ instances: 1, leads: 120, seconds: 3, mutation });
  expect(findingsOf(verdict)[finding]).not.toEqual([]);
});
