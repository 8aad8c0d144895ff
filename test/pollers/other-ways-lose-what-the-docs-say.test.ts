import { describe } from 'vitest';
import { OTHER_WAYS, type OtherWayKey } from '../../scripts/poller-outcomes.ts';
import { OTHER_POLLERS } from './every-poller.ts';
import { tryAll } from './trials.ts';

for (const key of Object.keys(OTHER_WAYS) as OtherWayKey[])
  describe(OTHER_WAYS[key].name, () => tryAll(OTHER_WAYS[key], OTHER_POLLERS[key]));
