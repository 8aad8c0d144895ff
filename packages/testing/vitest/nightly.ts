import process from 'node:process';

/** Set by vitest.config.ts for `npm run test:nightly`. */
export const NIGHTLY_VARIABLE = 'TEST_NIGHTLY';

export const isNightly = (): boolean => Boolean(process.env[NIGHTLY_VARIABLE]);

/** How many random values a slow property test tries: `count` for each change, three times as many at night. */
export const propertyRuns = (count: number): number => (isNightly() ? 3 * count : count);
