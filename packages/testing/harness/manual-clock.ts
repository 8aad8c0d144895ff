import type { Clock } from 'leadtap';

export type ManualClock = Clock & { advance(ms: number): void };

/** A clock that stands still until the test moves it. */
export function manualClock(startsAt = '2026-03-02T09:30:00.000Z'): ManualClock {
  let now = Date.parse(startsAt);
  return Object.assign(() => now, {
    advance(ms: number) {
      now += ms;
    },
  });
}
