import { hash } from 'node:crypto';

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

export interface LuaScript {
  readonly text: string;
  /** By which Redis knows a script that it has run before. */
  readonly sha1: string;
}

export const CONSUME_ALL: LuaScript = { text: TEXT, sha1: hash('sha1', TEXT) };
