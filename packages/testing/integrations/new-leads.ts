import { RATE_LIMITS } from '@leadtap/contract';
import type { TestService } from '../harness/service.ts';

/** What people enter in every platform. */
export interface Connection {
  readonly baseUrl: string;
  readonly token: string;
}

export const connectionOf = async ({ url, token }: TestService, userId = 'boss'): Promise<Connection> => ({
  baseUrl: url,
  token: await token(userId),
});

/** Adds leads at one and the same moment of the clock, and gives their ids in the order of the feed. */
export async function addLeads(service: TestService, count: number, prefix: string): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  await service.add(...ids.map((id) => ({ id })));
  return ids;
}

/** Leaves the user this many requests of the minute. `used` were made before. */
export async function leaveRequests(service: TestService, requests: number, used = 0): Promise<void> {
  const spare = RATE_LIMITS.minute.quota - used - requests;
  for (let request = 0; request < spare; request += 1) await service.poll('boss', 'limit=1');
}

/** What a test of a random schedule cleans up after each of its runs. */
export async function withCleanUps<T>(
  run: (whenDone: (cleanUp: () => void | Promise<void>) => void) => Promise<T>,
): Promise<T> {
  const cleanUps: (() => void | Promise<void>)[] = [];
  try {
    return await run((cleanUp) => void cleanUps.unshift(cleanUp));
  } finally {
    for (const cleanUp of cleanUps) await cleanUp();
  }
}
