import { beforeAll } from 'vitest';
import { type ServiceOptions, startService, type TestService } from './service.ts';

/** One service for all tests of a `describe`, for tables whose rows leave no traces. */
export function shareService(options: Omit<ServiceOptions, 'whenDone'> = {}): () => TestService {
  let shared: TestService | undefined;
  beforeAll(async () => {
    const cleanUps: (() => void | Promise<void>)[] = [];
    const end = async () => {
      for (const cleanUp of cleanUps) await cleanUp();
    };
    try {
      shared = await startService({ ...options, whenDone: (cleanUp) => cleanUps.unshift(cleanUp) });
      return end;
    } catch (error) {
      await end();
      throw error;
    }
  });
  return () => {
    if (!shared) throw new Error('the shared service is there only while tests run');
    return shared;
  };
}
