import type { MoveSource, MoveTarget } from './port.ts';

export type MoveStep = 'checking' | 'comparing' | 'copying' | 'verifying';

/** What every step of a move has at hand. A step rejects with the signal's reason when that fires. */
export interface Walk {
  readonly source: MoveSource;
  readonly target: MoveTarget;
  readonly signal: AbortSignal;
  /** So many leads of so many are through this step. */
  readonly onProgress: (step: MoveStep, leads: number, of: number) => void;
}
