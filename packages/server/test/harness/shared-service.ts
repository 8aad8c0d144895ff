import { beforeAll } from 'vitest';
import { type ServiceOptions, startService, type TestService } from './service.ts';

/** One service for all tests of a `describe`, for tables whose rows leave no traces. */
export function shareService(options: Omit<ServiceOptions, 'whenDone'> = {}): () => TestService {
  let shared: TestService | undefined;
  beforeAll(async () => {
    const cleanUps: (() => void | Promise<void>)[] = [];
    shared = await startService({ ...options, whenDone: (cleanUp) => cleanUps.unshift(cleanUp) });
    return async () => {
      for (const cleanUp of cleanUps) await cleanUp();
    };
  });
  return () => {
    if (!shared) throw new Error('the shared service is there only while tests run');
    return shared;
  };
}
