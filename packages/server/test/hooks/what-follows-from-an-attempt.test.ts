import { describe, expect, it } from 'vitest';
import { type Outcome, progressAfter, retryAfterMs, sinceOf } from '../../src/hooks/rules.ts';
import { type DueHook, type Hook, hookStateOf } from '../../src/store/hooks.ts';

const NOW = Date.parse('2026-03-02T09:30:00.000Z');
const DAY_MS = 86_400_000;

const HOOK: Hook = {
  ...{
    id: 'a',
    userId: 'boss',
    tokenId: 't',
    tokenExpiresAt: null,
    url: 'https://a.test/',
    baseUrl: 'https://b.test',
  },
  ...{ createdAt: 1, announcedThrough: 1000, announcedSince: 500, lastEventAt: null, lastStatus: null },
  ...{ failures: 0, failingSince: null, disabledAt: null, notBefore: NOW + 15_000, checkAt: NOW + 15_000 },
  remindAt: null,
};
const due = (hook: Partial<Hook> = {}, through = 2000): DueHook => ({
  hook: { ...HOOK, ...hook },
  companyId: 'acme',
  through,
});
const after = (event: DueHook, outcome: Outcome, random = 0, hasConsumers = true) =>
  progressAfter(event, outcome, { now: NOW, random, hasConsumers });

const OK: Outcome = { kind: 'accepted', status: 202 };
const FAILED: Outcome = { kind: 'refused', status: 500 };

describe('a 2xx', () => {
  it('moves the position, ends the failures, and allows the next event after a second', () => {
    expect(after(due({ failures: 3, failingSince: 5, remindAt: 7 }), OK)).toEqual({
      ...{ announcedThrough: 2000, announcedSince: 1000, lastEventAt: NOW, lastStatus: 202 },
      ...{ failures: 0, failingSince: null, disabledAt: null },
      ...{ notBefore: NOW + 1000, checkAt: NOW + 1000, remindAt: NOW + 120_000 },
    });
  });

  it('has no reminder after a reminder, or if consumers are not recorded', () => {
    expect(after(due({}, 1000), OK)).toMatchObject({
      ...{ announcedThrough: 1000, announcedSince: 500, remindAt: null },
    });
    expect(after(due(), OK, 0, false).remindAt).toBeNull();
  });
});

it('a reminder repeats the event before, and any other event begins at the position', () => {
  expect(sinceOf(due())).toBe(1000);
  expect(sinceOf(due({}, 1000))).toBe(500);
  expect(sinceOf(due({ announcedSince: null }, 1000))).toBe(1000);
});

describe('a failure', () => {
  it.each([
    [0, 5000],
    [1, 30_000],
    [2, 120_000],
    [3, 600_000],
    [4, 3_600_000],
    [50, 3_600_000],
  ])('after %i others waits %i ms, and at most a tenth more', (failures, ms) => {
    const hook = due({ failures, failingSince: failures > 0 ? NOW - 1 : null });
    expect(after(hook, FAILED)).toMatchObject({
      notBefore: NOW + ms,
      checkAt: NOW + ms,
      failures: failures + 1,
    });
    expect(after(hook, FAILED, 1)).toMatchObject({ notBefore: NOW + ms * 1.1 });
  });

  it('keeps the position and the first time of the failures', () => {
    expect(after(due({ failures: 1, failingSince: 77, remindAt: 88 }), { kind: 'timeout' })).toMatchObject({
      ...{ announcedThrough: 1000, announcedSince: 500, lastEventAt: NOW, lastStatus: null },
      ...{ failingSince: 77, remindAt: 88 },
    });
    expect(after(due(), FAILED)).toMatchObject({ failingSince: NOW, disabledAt: null, lastStatus: 500 });
  });

  it('disables the hook after 3 days of failures, and not before', () => {
    const since = (ms: number) => due({ failures: 9, failingSince: NOW - ms });
    expect(after(since(3 * DAY_MS - 1), FAILED)).toMatchObject({ disabledAt: null });
    expect(after(since(3 * DAY_MS), FAILED)).toMatchObject({ disabledAt: NOW, checkAt: null });
  });

  it('for which nothing was sent is no event', () => {
    expect(after(due({ lastEventAt: 5, lastStatus: 200 }), { kind: 'not-allowed' })).toMatchObject({
      ...{ lastEventAt: 5, lastStatus: null, failures: 1 },
    });
  });

  it('waits at least for Retry-After', () => {
    const wait = (retryAfter: string, status = 429) =>
      after(due(), { kind: 'refused', status, retryAfter }).notBefore - NOW;
    expect(wait('60')).toBe(60_000);
    expect(wait('1')).toBe(5000);
    expect(wait('Mon, 02 Mar 2026 10:30:00 GMT', 503)).toBe(3_600_000);
    expect(wait('999999999999')).toBe(DAY_MS);
  });
});

it.each([
  [undefined, 0],
  ['', 0],
  ['0', 0],
  ['-5', 0],
  ['1.5', 0],
  ['soon', 0],
  ['Mon, 99 Foo 2026 10:30:00 GMT', 0],
  ['Mon, 02 Mar 2020 10:30:00 GMT', 0],
  [' 7 ', 7000],
  ['9'.repeat(400), DAY_MS],
])('Retry-After %j is %i ms', (header, ms) => {
  expect(retryAfterMs(header, NOW)).toBe(ms);
});

it('the state follows from the row', () => {
  expect(hookStateOf({ disabledAt: null, failures: 0 })).toBe('active');
  expect(hookStateOf({ disabledAt: null, failures: 1 })).toBe('failing');
  expect(hookStateOf({ disabledAt: 1, failures: 9 })).toBe('disabled');
});
