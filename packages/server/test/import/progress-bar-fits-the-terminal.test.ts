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
  at(30_000, { count: 30 });
  expect(drawings()).toEqual(['25%  1,000,000 lines  50,000/s  1,200 rejected  1 min left', '30 lines  1/s']);
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
  expect(out.text()).toBe(`${CLEAR}1 lines${CLEAR}`);
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
