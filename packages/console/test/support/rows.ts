import type { Locator } from 'playwright-core';
import { expect } from 'vitest';

/** Rows that come into sight get their own heights in a later frame, which is a few pixels in all. A row has 54. */
const MOST_PX = 20;

export const topOf = async (row: Locator): Promise<number> => (await row.boundingBox())?.y ?? Number.NaN;

/** No row was added or removed above it. */
export async function expectUnmoved(row: Locator, top: number): Promise<void> {
  expect(Math.abs((await topOf(row)) - top)).toBeLessThan(MOST_PX);
}
