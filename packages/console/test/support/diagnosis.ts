import type { Consumer, Consumers } from '@leadtap/contract';
import type { Page } from 'playwright-core';

const TIME = '2026-01-01T00:00:00.000Z';

const OTHERS: Omit<Consumer, 'name' | 'level' | 'message'> = {
  ...{
    id: 'consumer',
    tokenId: null,
    isThisToken: false,
    state: 'active',
    problem: null,
    fix: null,
    hook: null,
  },
  ...{ firstPollAt: TIME, lastPollAt: TIME, lastStatus: 200, usualIntervalS: 120 },
  ...{ confirmedThrough: null, deliveredThrough: null, gaps: [], receivedHistory: [] },
  ...{ pendingLeads: 0, pendingSince: null, skippedLeads: 0, skippedSince: null },
  ...{ tokenEnded: null, isAwaited: false, last24h: Array.from({ length: 24 }, () => null) },
};

export const consumer = (
  name: string,
  level: Consumer['level'],
  message: string,
  others: Partial<Consumer> = {},
): Consumer => ({ ...OTHERS, id: name, tokenId: name, name, level, message, ...others });

/** In place of what the service says, for situations that would need failing platforms or hours. */
export async function diagnose(page: Page, read: () => Consumers): Promise<void> {
  await page.route('**/automation/consumers', (route) => route.fulfill({ json: read() }));
}
