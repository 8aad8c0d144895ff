// @nightly and after a change of integrations/ packages/client/src/ packages/contract/src/ packages/testing/pollers/ packages/server/src/hooks/ packages/server/src/poll/
import { expect, it } from 'vitest';
import { OUR_POLLERS } from '../../packages/testing/pollers/every-poller.ts';
import { OUR_WAYS } from '../../packages/testing/pollers/outcomes.ts';
import { trialsOf } from '../../packages/testing/pollers/trials.ts';

it.each(trialsOf(OUR_WAYS, OUR_POLLERS))('%s', async (_title, { run, expected }) => {
  expect(await run()).toEqual(expected);
});
