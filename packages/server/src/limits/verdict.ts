import type { Policy, Verdict } from './limiter.ts';

/** One window after the request was counted, or was not. */
export interface CountedWindow {
  readonly policy: Policy;
  readonly used: number;
  readonly endsInMs: number;
  /** It had no unit left for this request. */
  readonly isFull: boolean;
}

export function toVerdict(windows: readonly CountedWindow[]): Verdict {
  const full = windows.filter(({ isFull }) => isFull);
  return {
    windows: windows.map((window) => ({
      policy: window.policy,
      remaining: window.policy.quota - window.used,
      resetS: wholeSeconds(window),
    })),
    violated: full.map(({ policy }) => policy.name),
    retryAfterS: Math.max(0, ...full.map(wholeSeconds)),
  };
}

const wholeSeconds = ({ endsInMs }: CountedWindow): number => Math.ceil(endsInMs / 1000);
