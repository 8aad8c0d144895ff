import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Progress, ProgressBar } from '../../src/cli/progress-bar.ts';
import { captureStream } from '../cli/capture-stream.ts';

const CLEAR = '\r\u001b[K';

/** A bar on a terminal with this number of columns, with a manual clock. */
function barOf(columns?: number, isTTY = true) {
  let now = 0;
  const out = Object.assign(captureStream(isTTY), columns === undefined ? {} : { columns });
  const bar = new ProgressBar(out, () => now, 'lines');
  const at = (ms: number, progress: Progress) => {
    now = ms;
    bar.update(progress);
  };
  const drawings = () => out.text().split(CLEAR).slice(1);
  return { bar, out, at, drawings };
}

test('it shows the share, the lines, the rate, the rejected lines and the time left', () => {
  const { at, drawings } = barOf(100);
  at(20_000, { share: 0.25, count: 1_000_000, rejected: 1200 });
  expect(drawings()).toEqual([
    `[${'#'.repeat(10)}${'-'.repeat(28)}]  25%  1,000,000 lines  50,000/s  1,200 rejected  1:00 left`,
  ]);
});

test('it shows hours, and omits rejected lines if there are none', () => {
  const { at, drawings } = barOf(80);
  at(3_600_000, { share: 0.25, count: 3600, rejected: 0 });
  expect(drawings()[0]).toMatch(/ 25% {2}3,600 lines {2}1\/s {2}3:00:00 left$/);
});

test('one line is one line', () => {
  const { at, drawings } = barOf(80);
  at(1000, { count: 1 });
  expect(drawings()).toEqual(['1 line  1/s']);
});

test('without a known size it shows the count only', () => {
  const { at, drawings } = barOf(80);
  at(1000, { count: 1234, rejected: 1 });
  expect(drawings()).toEqual(['1,234 lines  1,234/s  1 rejected']);
});

test('it is drawn at most ten times a second', () => {
  const { at, drawings } = barOf(80);
  for (let ms = 0; ms <= 1000; ms += 10) at(ms, { count: ms, rejected: 0 });
  expect(drawings()).toHaveLength(11);
});

test('it is cleared for messages, and drawn again below them', () => {
  const { bar, at, out } = barOf(80);
  bar.clear();
  expect(out.text()).toBe('');
  at(0, { count: 1, rejected: 0 });
  bar.clear();
  bar.clear();
  expect(out.text()).toBe(`${CLEAR}1 line${CLEAR}`);
});

test('it writes nothing without a terminal', () => {
  const { bar, at, out } = barOf(80, false);
  at(5000, { share: 0.5, count: 10, rejected: 1 });
  bar.clear();
  expect(out.text()).toBe('');
});

test('it never fills the last column', () => {
  const progress = fc.record(
    { share: fc.double({ min: 0, max: 1, noNaN: true }), count: fc.nat(), rejected: fc.nat() },
    { requiredKeys: ['count', 'rejected'] },
  );
  fc.assert(
    fc.property(progress, fc.integer({ min: 2, max: 300 }), fc.nat(), (shown, columns, elapsedMs) => {
      const { at, drawings } = barOf(columns);
      at(elapsedMs, shown);
      expect(drawings()[0]?.length).toBeLessThan(columns);
    }),
  );
});

test('a terminal of unknown width is treated as 80 columns', () => {
  for (const columns of [undefined, 0]) {
    const { at, drawings } = barOf(columns);
    at(1000, { share: 0.5, count: 1, rejected: 0 });
    expect(drawings()[0]).toMatch(/^\[#+-+\]/);
    expect(drawings()[0]?.length).toBeLessThan(80);
  }
});
