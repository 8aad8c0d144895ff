import type { Page } from 'playwright-core';
import type { Consumer, Level } from '../../src/consumers/consumer.ts';

const OF_NOBODY: Omit<Consumer, 'name' | 'level' | 'message'> = {
  ...{ tokenId: null, isThisToken: false, state: 'active', problem: null, fix: null, hook: null },
  ...{ firstPollAt: '2026-01-01T00:00:00.000Z', lastPollAt: '2026-01-01T00:00:00.000Z', lastStatus: 200 },
  ...{ usualIntervalS: 120, confirmedThrough: null, deliveredThrough: null, gaps: [] },
  ...{ pendingLeads: 0, pendingSince: null, skippedLeads: 0, skippedSince: null },
  ...{ tokenEnded: null, isAwaited: false },
};

export const consumer = (
  name: string,
  level: Level,
  message: string,
  others: Partial<Consumer> = {},
): Consumer => ({ ...OF_NOBODY, tokenId: name, name, level, message, ...others });

export interface Diagnosis {
  readonly summary: { readonly level: Level; readonly message: string };
  readonly consumers: readonly Consumer[];
}

/** Instead of what the service says, for situations that take hours or failing platforms. */
export const diagnose = (page: Page, read: () => Diagnosis): Promise<void> =>
  page.route('**/automation/consumers', (route) => route.fulfill({ json: read() }));
