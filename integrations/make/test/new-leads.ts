import type { Lead } from '@leadtap/contract';
import type { TestService } from '../../../packages/server/test/harness/service.ts';
import type { Connection, Run } from './interpreter/scenario.ts';

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

/** The ids of the leads that a run gave. */
export function idsOf(run: Run): string[] {
  if (run.kind !== 'done') throw run.error;
  return run.bundles.map((bundle) => (bundle as Lead).id);
}
