import { hash } from 'node:crypto';
import type { Policy } from '../limiter.ts';
import type { CountedWindow } from '../verdict.ts';

/**
 * Uses one unit of every window, or of none when one of them is full. Redis runs a script as one step, so however many
 * instances ask at once, nobody ever sees one window counted and the other not.
 *
 * KEYS are the windows. ARGV has two for each: its seconds and its quota. For each window it answers { used, milliseconds
 * left, 1 if it had no unit left for this request }.
 *
 * A window begins with the first request that finds none, refused or not, and ends with its key. One that would
 * last longer than it is long was begun before the clock of Redis was set back, one without an end was tampered with:
 * both begin anew, because they would refuse their user for hours or for ever.
 */
const TEXT = `
local windows, refused = {}, false
for i, key in ipairs(KEYS) do
  local length, quota = ARGV[2 * i - 1] * 1000, tonumber(ARGV[2 * i])
  local used, left = 0, redis.call('pttl', key)
  if left > 0 and left <= length then
    used = tonumber(redis.call('get', key))
  else
    redis.call('set', key, 0, 'PX', length)
    left = length
  end
  local full = used >= quota
  windows[i] = { math.min(used, quota), left, full and 1 or 0 }
  refused = refused or full
end
if not refused then
  for i, key in ipairs(KEYS) do windows[i][1] = redis.call('incr', key) end
end
return windows
`;

/** By its hash Redis knows a script that it has run before. */
export const CONSUME_ALL = { text: TEXT, sha1: hash('sha1', TEXT) };

/** The window of a policy that Redis keeps under a key. */
export interface SharedWindow {
  readonly policy: Policy;
  readonly key: string;
}

export const toQuestion = (windows: readonly SharedWindow[]) => ({
  keys: windows.map(({ key }) => key),
  arguments: windows.flatMap(({ policy }) => [String(policy.windowS), String(policy.quota)]),
});

/** Throws on whatever the script does not answer: a window that was not counted must not pass for an empty one. */
export function readAnswer(windows: readonly SharedWindow[], answer: unknown): CountedWindow[] {
  const counts: readonly unknown[] = Array.isArray(answer) ? answer : [];
  return windows.map(({ policy }, i) => {
    const count = counts[i];
    if (counts.length !== windows.length || !isCount(count))
      throw new Error('the answer is not one of our script');
    const [used, endsInMs, isFull] = count;
    return { policy, used, endsInMs, isFull: isFull === 1 };
  });
}

const isCount = (count: unknown): count is readonly [number, number, number] =>
  Array.isArray(count) && count.length === 3 && count.every(Number.isInteger);
