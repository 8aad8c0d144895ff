import { expect, it } from 'vitest';
import { OTHER_WAYS } from '../../scripts/poller-outcomes.ts';
import { OTHER_POLLERS } from './every-poller.ts';
import { trialsOf } from './trials.ts';

it.each(trialsOf(OTHER_WAYS, OTHER_POLLERS))('%s', async (_title, { run, expected }) => {
  expect(await run()).toEqual(expected);
});
