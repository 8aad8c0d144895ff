import { beforeAll } from 'vitest';
import { FaultyNetwork } from './faulty-network.ts';
import { LiveService } from './live-service.ts';

interface Parts {
  readonly service: LiveService;
  readonly network: FaultyNetwork;
}

/** One service and one network for all tests of a file. */
export function shareLiveService(): () => Parts {
  let parts: Parts | undefined;
  beforeAll(async () => {
    const cleanUps: (() => void | Promise<void>)[] = [];
    const whenDone = (cleanUp: () => void | Promise<void>) => void cleanUps.unshift(cleanUp);
    parts = { service: await LiveService.start(whenDone), network: await FaultyNetwork.start(whenDone) };
    return async () => {
      for (const cleanUp of cleanUps) await cleanUp();
    };
  });
  return () => {
    if (!parts) throw new Error('the service is there only while tests run');
    return parts;
  };
}
