import { expect, it } from 'vitest';
import { OUR_POLLERS } from '../../packages/testing/pollers/every-poller.ts';
import { trialsOf } from '../../packages/testing/pollers/trials.ts';
import { OUR_WAYS } from '../../tools/generate/poller-outcomes.ts';

it.each(trialsOf(OUR_WAYS, OUR_POLLERS))('%s', async (_title, { run, expected }) => {
  expect(await run()).toEqual(expected);
});
