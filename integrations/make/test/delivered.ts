import type { Lead } from '@leadtap/contract';
import type { Run } from './interpreter/scenario.ts';

/** The ids of the leads that a run gave. */
export function idsOf(run: Run): string[] {
  if (run.kind !== 'done') throw run.error;
  return run.bundles.map((bundle) => (bundle as Lead).id);
}
