import type { Consumer, PollSummary } from 'leadtap';
import type { TestService } from '../../../../testing/harness/service.ts';

/** All consumers, after everything that was recorded has been written. */
export async function readConsumers(
  { service, store }: TestService,
  now = Date.now(),
): Promise<readonly Consumer[]> {
  await service.recorder?.flush();
  return await store.consumers.list({ limit: 1000, maxPendingLeads: 1000, now });
}

export async function readConsumer(service: TestService, tokenId: string, now?: number): Promise<Consumer> {
  const consumers = await readConsumers(service, now);
  const found = consumers.find((consumer) => consumer.tokenId === tokenId);
  if (!found) throw new Error(`there is no consumer ${tokenId}`);
  return found;
}

/** Polls with a token of its own. */
export async function client(service: TestService, userId: string, tokenId: string) {
  const headers = { authorization: `Bearer ${await service.token(userId, { tokenId })}` };
  const poll = (query = '', init: RequestInit = {}) =>
    fetch(`${service.url}/automation/new-leads${query && `?${query}`}`, {
      ...init,
      headers: { ...headers, ...init.headers },
    });
  return { poll, position: (now?: number) => readConsumer(service, tokenId, now) };
}

export const iso = (ms: number): string => new Date(ms).toISOString();

/** What a recorder writes about one consumer. */
export const summary = (
  userId: string,
  tokenId: string | null,
  rest: Partial<PollSummary> = {},
): PollSummary => ({
  ...{ userId, tokenId, tokenExpiresAt: null, lastPollAt: Date.UTC(2026, 2, 2), lastStatus: 200, polls: 1 },
  ...{ heldUntil: null, confirmedThrough: null, deliveredThrough: null, sent: [] },
  ...rest,
});
