import { hash } from 'node:crypto';
import type { Policy } from '../limiter.ts';

/**
 * Uses one unit of every window of a key, or of none when one of them is full; one key after the other, in their order, and
 * a key may come several times. Redis runs a script as one step, so however many instances ask at once, nobody ever
 * sees one window counted and the other not.
 *
 * KEYS are whom to count for. ARGV has two for each policy: its seconds and its quota. Under a key lie two numbers for each
 * policy, packed, which takes a third of the time of a text: how much is used, and when the window ends. The answer is
 * one list: for each key 1 if it was refused or 0, and for each policy how much is used now and the milliseconds until
 * the window ends.
 *
 * A window begins with the first request that finds none, refused or not. One that would last longer than it is long was
 * begun before the clock of Redis was set back, and begins anew, because it would refuse its user for hours or for ever.
 */
const TEXT = `
local time, answer, count = redis.call('time'), {}, 0
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local numbers = #ARGV
local form = '<' .. string.rep('I4I6', numbers / 2)
local size = struct.size(form)
for i = 1, numbers do ARGV[i] = tonumber(ARGV[i]) end

for k = 1, #KEYS do
  local key, refused, begun, last = KEYS[k], false, false, 0
  local known = redis.call('get', key)
  local windows = known and #known == size and { struct.unpack(form, known) } or {}
  for i = 1, numbers, 2 do
    local length, ends = ARGV[i] * 1000, windows[i + 1]
    if not ends or ends <= now or ends > now + length then
      ends, begun = now + length, true
      windows[i], windows[i + 1] = 0, ends
    end
    if windows[i] >= ARGV[i + 1] then refused = true end
    if ends > last then last = ends end
  end
  count = count + 1
  answer[count] = refused and 1 or 0
  for i = 1, numbers, 2 do
    if not refused then windows[i] = windows[i] + 1 end
    answer[count + 1], answer[count + 2] = math.min(windows[i], ARGV[i + 1]), windows[i + 1] - now
    count = count + 2
  end
  if begun then
    redis.call('set', key, struct.pack(form, unpack(windows, 1, numbers)), 'PX', last - now)
  elseif not refused then
    redis.call('set', key, struct.pack(form, unpack(windows, 1, numbers)), 'KEEPTTL')
  end
end
return answer
`;

/** By its hash Redis knows a script that it has run before. */
export const CONSUME_ALL = { text: TEXT, sha1: hash('sha1', TEXT) };

/** Those to count for, and by which policies. */
export interface Question {
  readonly policies: readonly Policy[];
  readonly keys: string[];
}

/** How many numbers the answer has for each key. */
export const answerLength = (policies: readonly Policy[]): number => 1 + 2 * policies.length;

export const toArguments = ({ policies, keys }: Question) => ({
  keys,
  arguments: policies.flatMap(({ windowS, quota }) => [String(windowS), String(quota)]),
});

/** Throws on whatever the script does not answer: a window that was not counted must not pass for an empty one. */
export function readAnswer({ policies, keys }: Question, answer: unknown): readonly number[] {
  if (isNumbers(answer) && answer.length === keys.length * answerLength(policies)) return answer;
  throw new Error('the answer is not one of our script');
}

const isNumbers = (answer: unknown): answer is readonly number[] =>
  Array.isArray(answer) && answer.every(Number.isInteger);
