import { describe, expect, it } from 'vitest';
import { OtherRequests, type Reading } from '../src/connect/other-requests.ts';

const reading = (used: number, ownRequests: number, rest: Partial<Reading> = {}): Reading => ({
  used,
  ownRequests,
  windowEndsAt: 3_600_000,
  uncountedRequests: 0,
  ...rest,
});

describe('requests of other programs', () => {
  it('are those that the page did not send', () => {
    const others = new OtherRequests();
    expect(others.add(reading(10, 3))).toBe(0);
    expect(others.add(reading(12, 5))).toBe(0);
    expect(others.add(reading(14, 6))).toBe(1);
    expect(others.add(reading(20, 7))).toBe(6);
  });

  it('are not counted before the first reading', () => {
    expect(new OtherRequests().add(reading(900, 1))).toBe(0);
  });

  it('are recognised although the end of the window is read with an error of seconds', () => {
    const others = new OtherRequests();
    others.add(reading(10, 3));
    expect(others.add(reading(12, 4, { windowEndsAt: 3_602_000 }))).toBe(1);
  });

  it('are counted anew in the next window', () => {
    const others = new OtherRequests();
    others.add(reading(500, 3));
    expect(others.add(reading(1, 4, { windowEndsAt: 7_200_000 }))).toBe(0);
    expect(others.add(reading(3, 5, { windowEndsAt: 7_200_000 }))).toBe(1);
  });

  it('are compared with the same instance only, if instances count apart', () => {
    const others = new OtherRequests();
    others.add(reading(10, 3));
    expect(others.add(reading(400, 4, { windowEndsAt: 1_000_000 }))).toBe(0);
    expect(others.add(reading(11, 5))).toBe(0);
    expect(others.add(reading(403, 6, { windowEndsAt: 1_000_000 }))).toBe(1);
  });

  it('are never requests of the page, also if some of those were not counted', () => {
    const others = new OtherRequests();
    others.add(reading(10, 3));
    expect(others.add(reading(11, 6, { uncountedRequests: 2 }))).toBe(0);
    expect(others.add(reading(12, 7, { uncountedRequests: 2 }))).toBe(0);
    expect(others.add(reading(14, 8, { uncountedRequests: 2 }))).toBe(1);
  });
});
