import type { TestService } from '../../../packages/testing/harness/service.ts';

const BATCH = 500;

/** So many leads at once, and their ids. */
export async function addLeads(test: TestService, count: number, prefix: string): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, i) => `${prefix}-${i}`);
  for (let from = 0; from < count; from += BATCH)
    await test.add(...ids.slice(from, from + BATCH).map((id) => ({ id })));
  return ids;
}
