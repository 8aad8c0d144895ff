/** What people read about connections, in pages, commands and alerts: one phrase for each word of the code. */
import { formatCount } from './format-count.ts';

/** The ids of the rows that are no connections. */
export const DOOR_ID = 'door';
export const UNASSIGNED_ID = 'unassigned';

/** More are not counted. */
export const MAX_COUNTED_WAITING = 1000;
export const MAX_COUNTED_LEADS = 10_000;

/** `1 lead`, `41 leads`. A count that has reached the maximum has a plus: `1,000+ leads`. */
export const countText = (count: number, one: string, many = one, max = Infinity): string =>
  `${formatCount(count)}${count >= max ? '+' : ''} ${count === 1 ? one : many}`;

export const PHRASES = {
  lead: (count: number) => countText(count, 'lead', 'leads', MAX_COUNTED_LEADS),
  noLeads: 'No leads in the last 30 days',
  request: (count: number) => countText(count, 'request', 'requests'),
  sent: (count: number) => countText(count, 'sent'),
  hasAll: 'has all',
  waiting: (count: number) => `${countText(count, 'waits', 'wait', MAX_COUNTED_WAITING)}, safe`,
  missed: (count: number) => countText(count, 'not received'),
  pruned: (count: number) => `${countText(count, 'deleted')} by age before sent`,
  older: (count: number, date: string) => `${countText(count, 'before')} ${date}`,
  none: 'not meant for it',
  added: (count: number) => countText(count, 'new'),
  updated: (count: number) => `${countText(count, 'updated')} (not sent again)`,
  held: (count: number) => `${countText(count, 'held back')}, safe`,
  lost: (count: number) => `${countText(count, 'refused')}, not saved`,
  new: 'new connection',
  silent: (since: string) => `silent since ${since}`,
  usually: (every: string) => `usually every ${every}`,
  failing: (since: string) => `failing since ${since}`,
  paused: (by: string | null, day: string) => `paused${by === null ? '' : ` by ${by}`} on ${day}`,
  ended: (day: string) => `stopped on ${day}`,
  unassigned: 'Nowhere yet',
  door: 'Unknown sender',
  handled: 'Mark as handled',
  key: 'key',
  oldKey: (ago: string) => `the old key was used ${ago} ago`,
  level: { error: 'red', warning: 'amber', unknown: 'grey', good: 'green' },
} as const;

/** What times are told from. */
export interface TimeContext {
  readonly now: number;
  /** As `Intl` has it, such as `Europe/Paris`. */
  readonly timeZone: string;
}

/** So long, the day of the week is clear. */
const WEEKDAY_MS = 6 * 86_400_000;
/** To create a format takes longer than to use it a hundred times. */
const formats = /* @__PURE__ */ new Map<string, Intl.DateTimeFormat>();

const createFormat = (timeZone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat('en-US', {
    ...{ timeZone, weekday: 'long', day: 'numeric', month: 'short', year: 'numeric' },
    ...{ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
  });

function partsOf(ms: number, timeZone: string) {
  const format = formats.get(timeZone) ?? createFormat(timeZone);
  formats.set(timeZone, format);
  const parts = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]));
  const { weekday = '', day, month, year = '', hour, minute } = parts;
  return { weekday, year, date: `${day} ${month}`, clock: `${hour}:${minute}` };
}

/** A list has many times that are told from one moment, and a format takes longer than all else of a row. */
let today = { now: Number.NaN, timeZone: '', parts: { weekday: '', year: '', date: '', clock: '' } };
function todayIn(timeZone: string, now: number) {
  if (today.now !== now || today.timeZone !== timeZone)
    today = { now, timeZone, parts: partsOf(now, timeZone) };
  return today.parts;
}

/** `Thursday 19 Nov` */
export function dateText(ms: number, timeZone: string): string {
  const { weekday, date } = partsOf(ms, timeZone);
  return `${weekday} ${date}`;
}

const isRecent = (ms: number, now: number): boolean => ms <= now && now - ms < WEEKDAY_MS;

/** `Thursday` of the last days, else `3 Nov`, or `3 Nov 2025` of another year. */
export function dayText(ms: number, { now, timeZone }: TimeContext): string {
  const { weekday, date, year } = partsOf(ms, timeZone);
  if (isRecent(ms, now)) return weekday;
  return year === todayIn(timeZone, now).year ? date : `${date} ${year}`;
}

/** `14:10` of today, `Tuesday 14:10` of the last days, else the day. */
export function timeText(ms: number, context: TimeContext): string {
  const { now, timeZone } = context;
  const [{ date, year, clock }, today] = [partsOf(ms, timeZone), todayIn(timeZone, now)];
  if (date === today.date && year === today.year) return clock;
  return isRecent(ms, now) ? `${dayText(ms, context)} ${clock}` : dayText(ms, context);
}
