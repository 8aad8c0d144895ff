import { expect, it } from 'vitest';
import { OTHER_POLLERS } from '../../packages/testing/pollers/every-poller.ts';
import { OTHER_WAYS } from '../../packages/testing/pollers/outcomes.ts';
import { trialsOf } from '../../packages/testing/pollers/trials.ts';

it.each(trialsOf(OTHER_WAYS, OTHER_POLLERS))('%s', async (_title, { run, expected }) => {
  expect(await run()).toEqual(expected);
});
