import { describe } from 'vitest';
import { OUR_WAYS, type OurWayKey } from '../../scripts/poller-outcomes.ts';
import { OUR_POLLERS } from './every-poller.ts';
import { tryAll } from './trials.ts';

for (const key of Object.keys(OUR_WAYS) as OurWayKey[])
  describe(OUR_WAYS[key].name, () => tryAll(OUR_WAYS[key], OUR_POLLERS[key]));
