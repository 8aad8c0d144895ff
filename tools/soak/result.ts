import type { Verdict } from '../../packages/testing/delivery-trial/judge/judge.ts';

/** What a trial has counted, and every defect that it has found. */
export interface TrialResult {
  readonly figures: Readonly<Record<string, number>>;
  readonly faults: Readonly<Record<string, number>>;
  /** A sentence for each defect, by kind. */
  readonly findings: Readonly<Record<string, readonly string[]>>;
}

export const hasPassed = ({ findings }: TrialResult): boolean =>
  Object.values(findings).every(({ length }) => length === 0);

/** Whether a deliberate defect was found. On a slow machine, requests are also refused without one. */
export const hasFoundDefect = ({ findings }: TrialResult): boolean =>
  Object.entries(findings).some(([kind, { length }]) => kind !== 'refused' && length > 0);

export const findingsOf = ({ lost, doubled, stale, missing, broken, complaints }: Verdict) => ({
  ...{ lost, doubled, stale, missing, broken },
  refused: complaints,
});
