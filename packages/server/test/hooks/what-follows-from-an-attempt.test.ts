import { describe, expect, it } from 'vitest';
import { eventMessage, postMessage } from '../../src/hooks/event.ts';
import {
  type ClaimResult,
  type Outcome,
  progressAfter,
  progressAfterLeads,
  retryAfterMs,
  type SentLeads,
  sinceOf,
} from '../../src/hooks/rules.ts';
import { type DueHook, type Hook, hookStateOf } from '../../src/hooks/store.ts';

const NOW = Date.parse('2026-03-02T09:30:00.000Z');
const DAY_MS = 86_400_000;

const HOOK: Hook = {
  ...{
    id: 'a',
    userId: 'boss',
    tokenId: 't',
    tokenExpiresAt: null,
    keyId: null,
    connectionId: null,
    name: null,
    url: 'https://a.test/',
    send: 'event',
    baseUrl: 'https://b.test',
  },
  ...{ createdAt: 1, announcedThrough: 1000, announcedSince: 500 },
  ...{ lastEventAt: null, lastStatus: null },
  ...{ failures: 0, failingSince: null, disabledAt: null, notBefore: NOW + 15_000, checkAt: NOW + 15_000 },
  ...{ remindAt: null },
};
const due = (hook: Partial<Hook> = {}, rest: Partial<DueHook> = {}): DueHook => ({
  ...{ hook: { ...HOOK, ...hook }, companyId: 'acme', through: 2000 },
  ...{ waitingSince: null, hasPending: false, claimedAt: NOW },
  ...rest,
});
const after = (event: DueHook, result: ClaimResult, random = 0) =>
  progressAfter(event, result, { now: NOW, random });

const OK: Outcome = { kind: 'accepted', status: 202 };
const FAILED: Outcome = { kind: 'refused', status: 500 };

it('a 2xx moves the position, ends the failures, and allows the next event after a second', () => {
  expect(after(due({ failures: 3, failingSince: 5, remindAt: 7 }), OK)).toEqual({
    ...{ announcedThrough: 2000, announcedSince: 500 },
    ...{ lastEventAt: NOW, lastStatus: 202 },
    ...{ failures: 0, failingSince: null, disabledAt: null },
    ...{ notBefore: NOW + 1000, checkAt: NOW + 1000, remindAt: NOW + 600_000 },
  });
});

describe('events whose leads still wait', () => {
  const MINUTE_MS = 60_000;
  const reminder = { through: 1000 };
  const sent = (minutesAgo: number) => ({ lastEventAt: NOW - minutesAgo * MINUTE_MS, remindAt: 7 });
  // The position is 1000. What a 2xx stores: announcedSince, and the next reminder in minutes.
  it.each<
    [string, Partial<Hook>, Partial<DueHook>, since: number, announcedSince: number, minutes: number | null]
  >([
    ['a new event', sent(1), {}, 1000, 500, 10],
    ['a new event a day later', sent(1440), {}, 1000, 500, 10],
    ['a new event when others are due again', sent(70), { waitingSince: 701 }, 700, 500, 10],
    ['the first reminder', sent(10), { ...reminder, waitingSince: 601 }, 600, 500, 60],
    ['a reminder that is late', sent(61), { ...reminder, waitingSince: 601 }, 600, 500, 360],
    ['the last reminder', sent(360), { ...reminder, waitingSince: 601 }, 600, 1000, null],
  ])('%s', (_name, hook, rest, since, announcedSince, minutes) => {
    const event = due(hook, rest);
    expect(sinceOf(event)).toBe(since);
    const remindAt = minutes === null ? null : NOW + minutes * MINUTE_MS;
    expect(after(event, OK)).toMatchObject({ announcedSince, remindAt, announcedThrough: event.through });
  });
});

describe('a failure', () => {
  const MINUTE_MS = 60_000;
  it.each([
    [0, 0, 5000, 5000],
    [1, 0, 30_000, 30_000],
    [2, 0, MINUTE_MS, 120_000],
    [3, 0, MINUTE_MS, 300_000],
    [248, 2 * DAY_MS, MINUTE_MS, 300_000],
    [249, DAY_MS - 1, MINUTE_MS, 300_000],
    [249, DAY_MS, MINUTE_MS, 3_600_000],
    [5000, 2 * DAY_MS, MINUTE_MS, 3_600_000],
  ])(
    'after %i others in %i ms waits %i ms for a new lead, otherwise %i ms, and at most a tenth more',
    (failures, forMs, newLeadMs, ms) => {
      const hook = due({ failures, failingSince: failures > 0 ? NOW - forMs : null });
      const expected = { failures: failures + 1, disabledAt: null, failingSince: NOW - forMs };
      expect(after(hook, FAILED)).toMatchObject({
        ...expected,
        notBefore: NOW + newLeadMs,
        checkAt: NOW + ms,
      });
      expect(after(hook, FAILED, 1)).toMatchObject({ checkAt: NOW + ms * 1.1 });
    },
  );

  it.each<[string, Outcome]>([
    ['an unreachable receiver', { kind: 'unreachable' }],
    ...[502, 503, 504].map((status): [string, Outcome] => [`a ${status}`, { kind: 'refused', status }]),
  ])(
    'of %s is tried again every few seconds for two minutes, and not before Retry-After',
    (_name, outcome) => {
      const waits = [0, 1, 2, 3, 4, 5, 6, 7].map((failures) => {
        const { notBefore, checkAt } = after(due({ failures, failingSince: NOW }), outcome);
        return [(notBefore - NOW) / 1000, ((checkAt ?? 0) - NOW) / 1000];
      });
      const restart = [5, 5, 10, 10, 20, 30, 40].map((seconds) => [seconds, seconds]);
      expect(waits).toEqual([...restart, [60, 300]]);
      if (outcome.kind === 'refused')
        expect(after(due(), { ...outcome, retryAfter: '90' })).toMatchObject({ checkAt: NOW + 90_000 });
    },
  );

  it('keeps the position and the first time of the failures', () => {
    expect(after(due({ failures: 1, failingSince: 77, remindAt: 88 }), { kind: 'timeout' })).toMatchObject({
      ...{ announcedThrough: 1000, announcedSince: 500, lastEventAt: NOW, lastStatus: null },
      ...{ failingSince: 77, remindAt: 88 },
    });
    expect(after(due(), FAILED)).toMatchObject({ failingSince: NOW, disabledAt: null, lastStatus: 500 });
  });

  it.each([
    ['after 3 days', 289, 3 * DAY_MS, true],
    ['not before', 289, 3 * DAY_MS - 1, false],
    ['not after few attempts: the clock was set forward', 288, 40 * DAY_MS, false],
    ['not if the first failure is in the future: the clock was set back', 500, -40 * DAY_MS, false],
  ])('disables the hook: %s', (_name, failures, forMs, isDisabled) => {
    const progress = after(due({ failures, failingSince: NOW - forMs }), FAILED);
    expect(progress.disabledAt).toBe(isDisabled ? NOW : null);
    expect(progress.checkAt === null).toBe(isDisabled);
    expect(progress.failingSince).toBe(Math.min(NOW, NOW - forMs));
  });

  it.each([
    ['60', 60_000, 60_000],
    ['1', 5000, 5000],
    ['600', 600_000, 600_000],
    ['Mon, 02 Mar 2026 10:30:00 GMT', 3_600_000, 3_600_000],
    ['999999999999', DAY_MS, DAY_MS],
  ])('with Retry-After %s waits %i ms at least, also for a new lead', (retryAfter, newLeadMs, ms) => {
    expect(after(due(), { kind: 'refused', status: 429, retryAfter })).toMatchObject({
      ...{ notBefore: NOW + newLeadMs, checkAt: NOW + ms },
    });
  });
});

it.each([
  ['not-allowed', 0],
  ['postponed', 1000],
  ['gone', 0],
] as const)('%s is no attempt: the hook is due in %i ms', (kind, ms) => {
  const event = due({ failures: 2, failingSince: 5, lastEventAt: 5, lastStatus: 200, remindAt: 9 });
  const expected = { ...event.hook, notBefore: NOW + ms, checkAt: NOW + ms };
  expect(after(event, kind === 'gone' ? { kind, status: 410 } : { kind })).toEqual(expected);
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

it('the times of an event are those of the database', async () => {
  const sent: { timestamp: string; header: string | undefined }[] = [];
  const delivery = {
    maxInFlight: 1,
    post: async (_url: URL, headers: Readonly<Record<string, string>>, body: string) => {
      sent.push({ timestamp: JSON.parse(body).timestamp, header: headers['webhook-timestamp'] });
      return OK;
    },
    close: () => undefined,
  };
  // Unlike the clock of this process.
  const options = { hosts: ['a.test'], signingSecrets: [], publicUrl: undefined, version: '1.0.0' };
  const message = eventMessage(HOOK, { since: 1000, through: 2000 }, NOW, undefined);
  await postMessage(delivery, due({}, { claimedAt: NOW }), message, options);
  expect(sent).toEqual([{ timestamp: new Date(NOW).toISOString(), header: String(NOW / 1000) }]);
});

it('the state follows from the row', () => {
  expect(hookStateOf({ disabledAt: null, failures: 0 })).toBe('active');
  expect(hookStateOf({ disabledAt: null, failures: 1 })).toBe('failing');
  expect(hookStateOf({ disabledAt: 1, failures: 9 })).toBe('disabled');
});

describe('of a hook that sends leads', () => {
  const failing = due({ send: 'lead', failures: 3, failingSince: 5 });
  const afterLeads = (createdAt: number | undefined, end: SentLeads['end']) =>
    progressAfterLeads(
      failing,
      { ...(createdAt !== undefined && { accepted: { createdAt, status: 202 } }), end },
      { now: NOW, random: 0 },
    );

  it('a 2xx moves the position to what was accepted, and the claim goes on; there are no reminders', () => {
    const { notBefore, checkAt } = failing.hook;
    expect(afterLeads(1500, { kind: 'sending' })).toMatchObject({
      ...{ announcedThrough: 1500, announcedSince: 500, failures: 0, failingSince: null },
      ...{ lastEventAt: NOW, lastStatus: 202, notBefore, checkAt, remindAt: null },
    });
  });

  it('with more leads it is due at once, and without any more, it is examined a second later', () => {
    const isDue = { announcedThrough: 1500, notBefore: NOW };
    expect(afterLeads(1500, { kind: 'time-over' })).toMatchObject({ ...isDue, checkAt: NOW });
    expect(afterLeads(1500, { kind: 'all-sent' })).toMatchObject({ ...isDue, checkAt: NOW + 1000 });
    const nothing = { ...failing.hook, notBefore: NOW, checkAt: NOW + 1000 };
    expect(afterLeads(undefined, { kind: 'all-sent' })).toEqual(nothing);
  });

  it('what was accepted before a failure counts, and the failure is the first one', () => {
    expect(afterLeads(1400, FAILED)).toMatchObject({
      ...{ announcedThrough: 1400, failures: 1, failingSince: NOW, lastStatus: 500 },
      ...{ notBefore: NOW + 5000, checkAt: NOW + 5000 },
    });
    expect(afterLeads(undefined, FAILED)).toMatchObject({
      ...{ announcedThrough: 1000, failures: 4, failingSince: 5 },
    });
  });

  it('a 410 disables it, and the position stays', () => {
    expect(afterLeads(1400, { kind: 'gone', status: 410 })).toMatchObject({
      ...{ announcedThrough: 1400, lastStatus: 410, disabledAt: NOW, checkAt: null },
    });
  });
});
