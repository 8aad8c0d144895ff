import type { Bearer, Change } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { beforeQuestion } from '../../../testing/harness/before-question.ts';
import { type WaitingPlace, WaitingPolls } from '../../src/cache/waiting-polls.ts';
import { ManualTimers, settle } from './support/manual-timers.ts';
import { idsOf, startWaitingService } from './support/waiting-service.ts';

const TICK_MS = 50;

/** Waiting polls over a change log that the test writes. */
function makeWaitingPolls({ maxWaiting = 100_000 } = {}) {
  const timers = new ManualTimers();
  let report: (changes: readonly Change[] | undefined) => void = () => undefined;
  let changes: Change[] | undefined = [];
  const state = { revalidations: 0, checks: 0, running: 0, maxRunning: 0 };
  const revalidate = async () => {
    state.revalidations += 1;
    if (changes === undefined || changes.length > 0) report(changes);
    changes = [];
  };
  const waitingPolls = new WaitingPolls(
    {
      revalidate,
      onChanges: (listener) => {
        report = listener;
      },
    },
    { maxWaiting, schedule: timers.schedule },
  );
  const enter = (bearer: Bearer, companyId: string) =>
    waitingPolls.enter({
      bearer,
      companyId,
      waitMs: 50_000,
      expiresInMs: Number.POSITIVE_INFINITY,
      stop: () => undefined,
      check: async (place) => {
        place.watchCompany(companyId);
        state.checks += 1;
        state.running += 1;
        state.maxRunning = Math.max(state.maxRunning, state.running);
        await new Promise((resolve) => setImmediate(resolve));
        state.running -= 1;
        return 'checked';
      },
    });
  return {
    timers,
    state,
    enter,
    revalidate,
    change: (...entries: Change[]) => void changes?.push(...entries),
    changeAnything: () => {
      changes = undefined;
    },
  };
}

describe('waiting polls', () => {
  it('make one revalidation in 50 ms, however many they are, and none without any', async () => {
    const { timers, state, enter } = makeWaitingPolls();
    await timers.advance(1000);
    expect(state.revalidations).toBe(0);
    const places = Array.from({ length: 1000 }, (_, n) => enter({ userId: `user-${n}` }, `company-${n % 9}`));
    await settle();
    await timers.advance(20 * TICK_MS);
    expect(state.revalidations).toBe(20);
    for (const place of places) place?.leave();
    expect(timers.size).toBe(0);
    await timers.advance(1000);
    expect(state.revalidations).toBe(20);
  });

  it('are checked when their company, user or token changes, and not otherwise', async () => {
    const { timers, state, enter, change } = makeWaitingPolls();
    enter({ userId: 'ada', tokenId: 'token-of-ada' }, 'acme');
    enter({ userId: 'bob' }, 'globex');
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

  it('are checked again when there is a change during a check', async () => {
    const { timers, state, enter, change, revalidate } = makeWaitingPolls();
    enter({ userId: 'ada' }, 'acme');
    await settle();
    change({ kind: 'leads-appended', id: 'acme' });
    const ticked = timers.advance(TICK_MS);
    await Promise.resolve();
    expect(state).toMatchObject({ checks: 2, running: 1 });
    change({ kind: 'leads-appended', id: 'acme' });
    // As an ordinary poll does.
    await revalidate();
    await ticked;
    await settle();
    expect(state).toMatchObject({ checks: 3, running: 0 });
  });

  it('are checked in groups, so that a change for all of them does not block the others', async () => {
    const { timers, state, enter, change } = makeWaitingPolls();
    const count = 5000;
    for (let n = 0; n < count; n += 1) enter({ userId: `user-${n}` }, 'acme');
    await settle();
    Object.assign(state, { checks: 0, maxRunning: 0 });
    change({ kind: 'leads-appended', id: 'acme' });
    await timers.advance(TICK_MS);
    while (state.checks < count) await settle();
    expect(state.checks).toBe(count);
    expect(state.maxRunning).toBeLessThanOrEqual(500);
  });

  it('are all checked when anything may have changed, at most once a second', async () => {
    const { timers, state, enter, changeAnything } = makeWaitingPolls();
    for (let n = 0; n < 10; n += 1) enter({ userId: `user-${n}` }, 'acme');
    await settle();
    state.checks = 0;
    for (let tick = 0; tick < 40; tick += 1) {
      changeAnything();
      await timers.advance(TICK_MS);
    }
    await settle();
    expect(state.checks).toBe(20);
  });

  it('may leave while they are checked', async () => {
    const { timers, enter, state } = makeWaitingPolls({ maxWaiting: 1 });
    const leave = (place: WaitingPlace | undefined) => place?.leave();
    for (let n = 0; n < 2000; n += 1) leave(enter({ userId: 'ada' }, 'acme'));
    await settle();
    // The checks that had begun are no longer counted: the next poll is checked after each change.
    expect(enter({ userId: 'ada' }, 'acme')).toBeDefined();
    expect(enter({ userId: 'bob' }, 'acme')).toBeUndefined();
    await settle();
    expect(state.checks).toBe(2001);
    expect(timers.size).toBe(2);
  });
});

it('a service without waiting polls does not query the database by itself', async () => {
  const { wait, untilWaiting, add, store, poll } = await startWaitingService();
  let revalidations = 0;
  beforeQuestion(store, 'findUser', async () => {
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
