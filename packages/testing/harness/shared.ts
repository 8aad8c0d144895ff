import { beforeAll } from 'vitest';
import type { WhenDone } from './temp-folder.ts';

/** One for all tests of a `describe`: made before the first of them, and ended after the last. */
export function share<T>(make: (whenDone: WhenDone) => Promise<T>): () => T {
  let shared: { readonly value: T } | undefined;
  beforeAll(async () => {
    const cleanUps: (() => void | Promise<void>)[] = [];
    const end = async () => {
      for (const cleanUp of cleanUps) await cleanUp();
    };
    try {
      shared = { value: await make((cleanUp) => cleanUps.unshift(cleanUp)) };
      return end;
    } catch (error) {
      await end();
      throw error;
    }
  });
  return () => {
    if (!shared) throw new Error('what tests share is there only while they run');
    return shared.value;
  };
}
