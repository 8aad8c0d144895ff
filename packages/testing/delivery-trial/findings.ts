import type { Verdict } from './judge/judge.ts';

/** All that the judge found, as an object that a test can compare: empty if nothing was found. */
export function findingsOf({ lost, doubled, stale, missing, broken, complaints }: Verdict) {
  const all = { lost, doubled, stale, missing, broken, complaints };
  return Object.fromEntries(Object.entries(all).filter(([, sentences]) => sentences.length > 0));
}
