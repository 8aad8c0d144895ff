import type { PollSummary } from 'leadtap';
import type { Page } from 'playwright-core';
import type { TestService } from '../../../testing/harness/service.ts';

const MONTH_MS = 30 * 86_400_000;

/** An automation of boss, with a token of its own that was issued with this name. */
export async function addAutomation(service: TestService, name: string, tokenId = name) {
  const [issuedAt, expiresAt] = [Date.UTC(2026, 0), Date.UTC(2100, 0)];
  const token = { id: tokenId, userId: 'boss', name, issuedAt, expiresAt, scopes: ['leads:read'] as const };
  await service.store.recordTokens([token]);
  const authorization = `Bearer ${await service.token('boss', { tokenId, expiresInMs: MONTH_MS })}`;
  const poll = async (query = ''): Promise<number> => {
    const response = await service.poll('boss', query, { headers: { authorization } });
    await response.arrayBuffer();
    await service.service.recorder?.flush();
    return response.status;
  };
  /** As after a poll in the past, which was sent all leads up to its position. */
  const recordPoll = (poll: Partial<PollSummary>) => {
    const through = poll.deliveredThrough ?? poll.confirmedThrough ?? null;
    return service.store.consumers.record([
      {
        ...{ userId: 'boss', tokenId, tokenExpiresAt: null, lastPollAt: 0, lastStatus: 200, polls: 1 },
        ...{ heldUntil: null, confirmedThrough: null, deliveredThrough: null },
        sent: through === null ? [] : [{ after: null, through }],
        ...poll,
      },
    ]);
  };
  return { authorization, poll, recordPoll };
}

export const isConsumersRequest = (exchange: { url(): string }): boolean =>
  exchange.url().endsWith('/automation/consumers');

/** Counts the requests for the list of consumers from now on. */
export function countConsumersRequests(page: Page): () => number {
  let count = 0;
  page.on('request', (request) => {
    if (isConsumersRequest(request)) count += 1;
  });
  return () => count;
}

/** Afterwards each timer of the page that looks whether a request is due has fired. */
export const letTimersFire = (page: Page): Promise<unknown> =>
  page.evaluate('new Promise((resolve) => setTimeout(resolve, 1000))');

/** Lets the page believe that its tab is in the background, or visible again. */
export const setHidden = (page: Page, isHidden: boolean): Promise<unknown> =>
  page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${isHidden} })`);
