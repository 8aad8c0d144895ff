import process from 'node:process';
import fc from 'fast-check';

/**
 * Property tests try the same random values in every run, so that a change is not blamed for a history that no run has tried
 * before. `npm run test:nightly` tries others each day, and `PROPERTY_SEED=12345 npm run test:properties` those of that number.
 */
fc.configureGlobal({ seed: Number(process.env['PROPERTY_SEED'] ?? 2026) });
