import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  afterFailure,
  afterResult,
  examine,
  INITIAL_STATE,
  NEVER,
  nextStep,
  type SenderState,
} from '../../src/hooks/schedule.ts';

const NOW = 100_000;
/** It has read and claimed a moment ago, and there is nothing to do. */
const IDLE: SenderState = {
  ...{ hasHooks: true, companies: new Set(), sweptAt: NOW - 1000, failedAt: NEVER, pausesEndAt: NEVER },
  ...{ readAt: NOW - 40, claimedAt: NOW - 40 },
};
const read = { readAt: NOW, claimedAt: NOW - 100 };
const wait = (ms: number) => ({ kind: 'wait', ms });
const [sweep, look] = [{ kind: 'sweep' }, { kind: 'look' }];
const [readLog, claim] = [{ kind: 'read' }, { kind: 'claim' }];

it.each<[string, Partial<SenderState>, object]>([
  ['nothing to do: until the next read', {}, wait(60)],
  ['a read is due', { readAt: NOW - 100, claimedAt: NOW - 200 }, readLog],
  ['a read is due a tick after a claim', { readAt: NOW - 300, claimedAt: NOW - 99 }, wait(1)],
  ['at the start', INITIAL_STATE, sweep],
  ['a minute after a sweep', { sweptAt: NOW - 60_000 }, sweep],
  ['before that', { sweptAt: NOW - 59_999 }, wait(60)],
  ['no hooks: until the next look', { hasHooks: false }, wait(1960)],
  ['no hooks, whatever has changed', { ...read, hasHooks: false, companies: new Set(['a']) }, wait(2000)],
  ['no hooks: look', { hasHooks: false, readAt: NOW - 2000 }, look],
  ['no hooks: until the next sweep', { hasHooks: false, sweptAt: NOW - 59_999 }, wait(1)],
  ['a company has new leads', { ...read, companies: new Set(['a']) }, claim],
  ['a company has new leads since the claim: after a read', { companies: new Set(['a']) }, wait(60)],
  ['a second after a claim', { readAt: NOW, claimedAt: NOW - 1000 }, claim],
  ['before that', { readAt: NOW, claimedAt: NOW - 999 }, wait(100)],
  ['pauses of hooks end', { ...read, pausesEndAt: NOW + 1 }, claim],
  ['they have ended', { ...read, pausesEndAt: NOW }, wait(100)],
  ['all hooks: not twice in a second', { ...read, companies: 'all', pausesEndAt: NOW + 1 }, wait(100)],
  ['all hooks: a second later', { readAt: NOW, claimedAt: NOW - 1000, companies: 'all' }, claim],
  ['the database has failed', { failedAt: NOW - 1, sweptAt: NEVER }, wait(999)],
  ['a second later: read', { ...afterFailure(NOW - 1000) }, readLog],
  ['then claim', { ...afterFailure(NOW - 1000), readAt: NOW }, claim],
])('%s', (_name, changes, step) => {
  expect(nextStep({ ...IDLE, ...changes }, NOW)).toEqual(step);
});

it('from any state, something is done after two waits at most, and within 2 seconds', () => {
  const time = fc.oneof(fc.constant(NEVER), fc.double({ min: NOW - 70_000, max: NOW, noNaN: true }));
  const state = fc.record({
    ...{ hasHooks: fc.boolean(), sweptAt: time, readAt: time, claimedAt: time, failedAt: time },
    companies: fc.constantFrom('all' as const, new Set<string>(), new Set(['a'])),
    pausesEndAt: fc.double({ min: NOW - 10, max: NOW + 1200, noNaN: true }),
  });
  fc.assert(
    fc.property(state, (from) => {
      let [at, waits] = [NOW, 0];
      for (let step = nextStep(from, at); step.kind === 'wait'; step = nextStep(from, at)) {
        expect(step.ms).toBeGreaterThan(0);
        // A hair later, because of the precision of numbers.
        at += step.ms + 1e-6;
        waits += 1;
        expect(waits).toBeLessThanOrEqual(2);
      }
      expect(at - NOW).toBeLessThanOrEqual(from.hasHooks ? 1001 : 2001);
    }),
  );
});

it.each([
  [new Set(['a']), ['b', 'a'], new Set(['a', 'b'])],
  ['all', ['b'], 'all'],
  [new Set(['a']), 'all', 'all'],
] as const)('companies %o and %o are %o', (companies, more, expected) => {
  expect(examine({ ...IDLE, companies }, more)).toEqual({ companies: expected });
});

it.each([
  ['a pause', NEVER, 1000, { pausesEndAt: NOW + 1200 }],
  ['a shorter one', NOW + 900, 0, { pausesEndAt: NOW + 900 }],
  ['a backoff, which regular claims find', NEVER, 1001, {}],
])('after a result: %s', (_name, pausesEndAt, checkInMs, expected) => {
  expect(afterResult({ ...IDLE, pausesEndAt }, checkInMs, NOW)).toEqual(expected);
});
