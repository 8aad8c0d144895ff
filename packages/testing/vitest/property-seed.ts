import process from 'node:process';
import fc from 'fast-check';

/**
 * Property tests try the same random values in every run, so that a change is not blamed for a history that no run has tried
 * before. `PROPERTY_SEED=12345 npm run test:properties` tries others.
 */
fc.configureGlobal({ seed: Number(process.env['PROPERTY_SEED'] ?? 2026) });
