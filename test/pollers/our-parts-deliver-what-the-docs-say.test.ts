import { expect, it } from 'vitest';
import { OUR_WAYS } from '../../scripts/poller-outcomes.ts';
import { OUR_POLLERS } from './every-poller.ts';
import { trialsOf } from './trials.ts';

it.each(trialsOf(OUR_WAYS, OUR_POLLERS))('%s', async (_title, { run, expected }) => {
  expect(await run()).toEqual(expected);
});
