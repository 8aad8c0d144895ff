import type { Change, VerifiedToken } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { beforeQuestion } from '../../../testing/harness/before-question.ts';
import { type LongPoll, LongPolls } from '../../src/poll/long-polls.ts';
import { idsOf, startWaitingService } from './support/long-polls-service.ts';
import { ManualTimers, settle } from './support/manual-timers.ts';

const TICK_MS = 50;

/** Long polls over a change log that the test writes. */
function makeLongPolls({ maxWaiting = 100_000 } = {}) {
  const timers = new ManualTimers();
  let report: (changes: readonly Change[] | undefined) => void = () => undefined;
  let changes: Change[] | undefined = [];
  const state = { revalidations: 0, checks: 0, running: 0, maxRunning: 0 };
  const readChanges = async () => {
    state.revalidations += 1;
    if (changes === undefined || changes.length > 0) report(changes);
    changes = [];
  };
  const longPolls = new LongPolls(
    {
      readChanges,
      onChanges: (listener) => {
        report = listener;
      },
    },
    { maxWaiting, schedule: timers.schedule },
  );
  /** The company of a user who was moved. */
  const moved = new Map<string, string>();
  const hold = (token: VerifiedToken, companyId: string) => {
    const held = longPolls.hold({ token, companyId, waitMs: 50_000, expiresInMs: Number.POSITIVE_INFINITY });
    if (held) void check(held, token, companyId);
    held?.interrupted.catch(() => undefined);
    return held;
  };
  /** Finds nothing, each time. */
  const check = async (held: LongPoll, { userId }: VerifiedToken, companyId: string) => {
    for (;;) {
      await longPolls.untilCheck(held, moved.get(userId) ?? companyId);
      state.checks += 1;
      state.running += 1;
      state.maxRunning = Math.max(state.maxRunning, state.running);
      await new Promise((resolve) => setImmediate(resolve));
      state.running -= 1;
    }
  };
  const disconnect = (held: LongPoll | undefined) => held && longPolls.disconnect(held);
  return {
    timers,
    state,
    hold,
    disconnect,
    moved,
    readChanges,
    change: (...entries: Change[]) => void changes?.push(...entries),
    changeAnything: () => {
      changes = undefined;
    },
  };
}

describe('long polls', () => {
  it('make one revalidation in 50 ms, however many they are, and none without any', async () => {
    const { timers, state, hold, disconnect } = makeLongPolls();
    await timers.advance(1000);
    expect(state.revalidations).toBe(0);
    const polls = Array.from({ length: 1000 }, (_, n) => hold({ userId: `user-${n}` }, `company-${n % 9}`));
    await settle();
    await timers.advance(20 * TICK_MS);
    expect(state.revalidations).toBe(20);
    for (const held of polls) disconnect(held);
    await timers.advance(1000);
    expect(state.revalidations).toBe(20);
    expect(timers.size).toBe(0);
  });

  it('are checked when their company, user or token changes, and not otherwise', async () => {
    const { timers, state, hold, change } = makeLongPolls();
    hold({ userId: 'ada', tokenId: 'token-of-ada' }, 'acme');
    hold({ userId: 'bob' }, 'globex');
    await settle();
    const checksAfter = async (...changes: Change[]) => {
      const before = state.checks;
      change(...changes);
      await timers.advance(TICK_MS);
      await settle();
      return state.checks - before;
    };
    expect(await checksAfter({ kind: 'leads-appended', id: 'acme' })).toBe(1);
    expect(await checksAfter({ kind: 'company', id: 'globex' })).toBe(1);
    expect(await checksAfter({ kind: 'user', id: 'bob' }, { kind: 'user', id: 'bob' })).toBe(1);
    expect(await checksAfter({ kind: 'token', id: 'token-of-ada' })).toBe(1);
    expect(await checksAfter({ kind: 'user', id: 'eve' }, { kind: 'token', id: 'another' })).toBe(0);
    expect(await checksAfter({ kind: 'leads-appended', id: 'initech' })).toBe(0);
    expect(await checksAfter()).toBe(0);
  });

  it('watch the company that their user is moved to, and are checked again in case it has had a lead', async () => {
    const { timers, state, hold, change, moved } = makeLongPolls();
    hold({ userId: 'ada' }, 'acme');
    await settle();
    const checksAfter = async (entry: Change) => {
      state.checks = 0;
      change(entry);
      await timers.advance(TICK_MS);
      await settle();
      return state.checks;
    };
    moved.set('ada', 'globex');
    expect(await checksAfter({ kind: 'user', id: 'ada' })).toBe(2);
    expect(await checksAfter({ kind: 'leads-appended', id: 'globex' })).toBe(1);
    expect(await checksAfter({ kind: 'leads-appended', id: 'acme' })).toBe(0);
  });

  it('are checked again when there is a change during a check', async () => {
    const { timers, state, hold, change, readChanges } = makeLongPolls();
    hold({ userId: 'ada' }, 'acme');
    await settle();
    change({ kind: 'leads-appended', id: 'acme' });
    const ticked = timers.advance(TICK_MS);
    for (let turn = 0; turn < 20 && state.running === 0; turn += 1) await Promise.resolve();
    expect(state).toMatchObject({ checks: 2, running: 1 });
    change({ kind: 'leads-appended', id: 'acme' });
    // As an ordinary poll does.
    await readChanges();
    await ticked;
    await settle();
    expect(state).toMatchObject({ checks: 3, running: 0 });
  });

  it('are checked in groups, so that a change for all of them does not block the others', async () => {
    const { timers, state, hold, change } = makeLongPolls();
    const count = 5000;
    for (let n = 0; n < count; n += 1) hold({ userId: `user-${n}` }, 'acme');
    await settle();
    Object.assign(state, { checks: 0, maxRunning: 0 });
    change({ kind: 'leads-appended', id: 'acme' });
    await timers.advance(TICK_MS);
    while (state.checks < count) await settle();
    expect(state.checks).toBe(count);
    expect(state.maxRunning).toBeLessThanOrEqual(500);
  });

  it('are all checked when anything may have changed, at most once a second', async () => {
    const { timers, state, hold, changeAnything } = makeLongPolls();
    for (let n = 0; n < 10; n += 1) hold({ userId: `user-${n}` }, 'acme');
    await settle();
    state.checks = 0;
    for (let tick = 0; tick < 40; tick += 1) {
      changeAnything();
      await timers.advance(TICK_MS);
    }
    await settle();
    expect(state.checks).toBe(20);
  });

  it('may end while they are checked', async () => {
    const { hold, disconnect, timers, state } = makeLongPolls({ maxWaiting: 1 });
    for (let n = 0; n < 2000; n += 1) disconnect(hold({ userId: 'ada' }, 'acme'));
    await settle();
    state.checks = 0;
    // They are counted neither as held nor as being checked.
    expect(hold({ userId: 'ada' }, 'acme')).toBeDefined();
    expect(hold({ userId: 'bob' }, 'acme')).toBeUndefined();
    await settle();
    expect(state.checks).toBe(1);
    expect(timers.size).toBe(2);
  });
});

it('a service without waiting polls does not query the database by itself', async () => {
  const { wait, untilWaiting, add, store, poll } = await startWaitingService();
  let revalidations = 0;
  beforeQuestion(store, 'revalidate', async () => {
    revalidations += 1;
  });
  const answer = wait('boss');
  await untilWaiting(1);
  await add({ id: 'one' });
  expect(await idsOf(await answer)).toEqual(['one']);
  await untilWaiting(0);
  const before = revalidations;
  await new Promise((resolve) => setTimeout(resolve, 4 * TICK_MS));
  expect(revalidations).toBe(before);
  await poll('boss', 'since=2026-01-01');
  expect(revalidations).toBe(before + 1);
});
