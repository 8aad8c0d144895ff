import process from 'node:process';

/** How many random values a slow property test tries: `count` for each change, and `PROPERTY_RUNS` times as many at night. */
export const propertyRuns = (count: number): number => count * Number(process.env['PROPERTY_RUNS'] ?? 1);
