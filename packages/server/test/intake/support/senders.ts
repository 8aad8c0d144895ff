import type { SenderSummary } from 'leadtap';

const AT = Date.UTC(2026, 2, 2);

/** What a recorder writes about one sender. */
export const senderSummary = (
  userId: string,
  tokenId: string | null,
  rest: Partial<SenderSummary> = {},
): SenderSummary => ({
  ...{ userId, tokenId, tokenExpiresAt: null, source: null, lastRequestAt: AT, writtenAt: AT },
  ...{ lastAcceptedAt: null, lastRefusal: null, lastUnkeptAt: null, days: [] },
  ...rest,
});
