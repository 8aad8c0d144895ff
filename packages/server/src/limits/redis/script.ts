import { hash } from 'node:crypto';
import type { Policy } from '../limiter.ts';

/**
 * Uses the units of a key in every window, or of none when one of them has too few left; key by key, in their order, and a key
 * may occur several times. Redis runs a script atomically, so no instance ever sees one window counted and the other not.
 *
 * KEYS are the users to count. ARGV has the units of each key, then two numbers for each policy: its seconds and its quota. The value of a key has two
 * numbers for each policy, packed, which takes a third of the time of a text: the used units, and the end of the window. The
 * reply is one list: for each key 1 if it was rejected or 0, and for each policy the used units and the milliseconds until the
 * window ends.
 *
 * A window begins with the first request that finds none open, rejected or not. A window that ends later than a new one
 * would was begun before the clock of Redis was set back. It begins again, because it would reject its user for hours.
 */
export const SCRIPT = `
local time, reply, count = redis.call('time'), {}, 0
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local numbers = #ARGV - #KEYS
local units, limits = {}, {}
for i = 1, #KEYS do units[i] = tonumber(ARGV[i]) end
for i = 1, numbers do limits[i] = tonumber(ARGV[#KEYS + i]) end
local format = '<' .. string.rep('I4I6', numbers / 2)
local size = struct.size(format)

for k = 1, #KEYS do
  local key, rejected, begun, last = KEYS[k], false, false, 0
  local stored = redis.call('get', key)
  local windows = stored and #stored == size and { struct.unpack(format, stored) } or {}
  for i = 1, numbers, 2 do
    local length, ends = limits[i] * 1000, windows[i + 1]
    if not ends or ends <= now or ends > now + length then
      ends, begun = now + length, true
      windows[i], windows[i + 1] = 0, ends
    end
    if windows[i] + units[k] > limits[i + 1] then rejected = true end
    if ends > last then last = ends end
  end
  count = count + 1
  reply[count] = rejected and 1 or 0
  for i = 1, numbers, 2 do
    if not rejected then windows[i] = windows[i] + units[k] end
    reply[count + 1], reply[count + 2] = math.min(windows[i], limits[i + 1]), windows[i + 1] - now
    count = count + 2
  end
  if begun then
    redis.call('set', key, struct.pack(format, unpack(windows, 1, numbers)), 'PX', last - now)
  elseif not rejected then
    redis.call('set', key, struct.pack(format, unpack(windows, 1, numbers)), 'KEEPTTL')
  end
end
return reply
`;

/** The name under which Redis caches the script. */
export const SCRIPT_SHA1 = hash('sha1', SCRIPT);

export interface ConsumeRequest {
  readonly policies: readonly Policy[];
  readonly keys: string[];
  /** One for each key. */
  readonly units: readonly number[];
}

/** The length of the reply for one key. */
export const countsPerKey = (policies: readonly Policy[]): number => 1 + 2 * policies.length;

export const toArguments = ({ policies, keys, units }: ConsumeRequest) => ({
  keys,
  arguments: [...units, ...policies.flatMap(({ windowS, quota }) => [windowS, quota])].map(String),
});

/** Throws on every reply that the script does not give: a window that was not counted must not look like an empty one. */
export function parseReply({ policies, keys }: ConsumeRequest, reply: unknown): readonly number[] {
  if (isNumbers(reply) && reply.length === keys.length * countsPerKey(policies)) return reply;
  throw new Error('unexpected reply to the rate limit script');
}

const isNumbers = (reply: unknown): reply is readonly number[] =>
  Array.isArray(reply) && reply.every(Number.isInteger);
