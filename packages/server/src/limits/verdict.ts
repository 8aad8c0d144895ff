import type { Policy, Verdict, WindowState } from './limiter.ts';

const NONE: readonly string[] = Object.freeze([]);

/**
 * What was counted, as a verdict.
 *
 * @param counts two numbers for each policy, beginning `at`: how much of the window is used after this request, and in how
 * many milliseconds the window ends
 * @param isRefused at least one of the windows had no unit left, so the request was counted by none
 */
export function toVerdict(
  policies: readonly Policy[],
  counts: ArrayLike<number>,
  at: number,
  isRefused: boolean,
): Verdict {
  const windows: WindowState[] = [];
  let violated = NONE;
  let retryAfterS = 0;
  for (const policy of policies) {
    const place = at + 2 * windows.length;
    const used = counts[place] ?? 0;
    const resetS = Math.ceil((counts[place + 1] ?? 0) / 1000);
    windows.push({ policy, remaining: policy.quota - used, resetS });
    if (!isRefused || used < policy.quota) continue;
    violated = [...violated, policy.name];
    retryAfterS = Math.max(retryAfterS, resetS);
  }
  return { windows, violated, retryAfterS };
}
