/** Times of leads: ISO 8601 and, for imports, other formats and the time zone of the file. */
import { createTimeReader, type Reader } from './field-readers.ts';
import { parseInstant } from './instant.ts';

/** Milliseconds since 1970; undefined if the text is not a time. */
export type ParseTime = (text: string) => number | undefined;

/** The UTC time of a local time, both in milliseconds since 1970. */
export type ToUtc = (local: number) => number;

const MONTHS = [
  ...['january', 'february', 'march', 'april', 'may', 'june', 'july'],
  ...['august', 'september', 'october', 'november', 'december'],
];

type Part = 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second' | 'fraction' | 'half';

interface Token {
  readonly part: Part;
  readonly pattern: string;
  readonly read?: (text: string) => number;
}

/** POSIX: 69 to 99 are 1969 to 1999. */
const readShortYear = (text: string): number => Number(text) + (Number(text) < 69 ? 2000 : 1900);
const readMonthName = (text: string): number =>
  MONTHS.findIndex((month) => month.startsWith(text.slice(0, 3).toLowerCase())) + 1;

const TOKENS: Readonly<Record<string, Token>> = {
  YYYY: { part: 'year', pattern: '\\d{4}' },
  YY: { part: 'year', pattern: '\\d{2}', read: readShortYear },
  MMMM: { part: 'month', pattern: MONTHS.join('|'), read: readMonthName },
  MMM: { part: 'month', pattern: MONTHS.map((month) => month.slice(0, 3)).join('|'), read: readMonthName },
  MM: { part: 'month', pattern: '\\d{2}' },
  M: { part: 'month', pattern: '\\d{1,2}' },
  DD: { part: 'day', pattern: '\\d{2}' },
  D: { part: 'day', pattern: '\\d{1,2}' },
  HH: { part: 'hour', pattern: '\\d{2}' },
  H: { part: 'hour', pattern: '\\d{1,2}' },
  hh: { part: 'hour', pattern: '\\d{2}' },
  h: { part: 'hour', pattern: '\\d{1,2}' },
  mm: { part: 'minute', pattern: '\\d{2}' },
  ss: { part: 'second', pattern: '\\d{2}' },
  SSS: { part: 'fraction', pattern: '\\d{3}' },
  A: { part: 'half', pattern: 'am|pm|a\\.m\\.|p\\.m\\.', read: (text) => (/^p/i.test(text) ? 12 : 0) },
};

const TOKEN_OR_CHARACTER = /YYYY|YY|MMMM|MMM|MM|M|DD|D|HH|H|hh|h|mm|ss|SSS|A|./gsu;

/** A local time as its format reads it, in milliseconds since 1970. */
export interface DateFormat {
  readonly text: string;
  readonly parse: ParseTime;
}

/** A format such as `DD.MM.YYYY HH:mm`; undefined if the text is not one. */
export function createDateFormat(text: string): DateFormat | undefined {
  const tokens: Token[] = [];
  let pattern = '';
  for (const [piece] of text.matchAll(TOKEN_OR_CHARACTER)) {
    const token = TOKENS[piece];
    if (token !== undefined) {
      tokens.push(token);
      pattern += `(${token.pattern})`;
    } else if (/[a-z]/i.test(piece) && piece !== 'T') return undefined;
    else pattern += /\s/.test(piece) ? '\\s' : piece.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&');
  }
  const parts = tokens.map(({ part }) => part);
  const has12Hours = text.includes('h');
  const isComplete =
    ['year', 'month', 'day'].every((part) => parts.includes(part as Part)) &&
    new Set(parts).size === parts.length &&
    has12Hours === parts.includes('half') &&
    (!parts.includes('half') || parts.includes('hour')) &&
    (!parts.includes('minute') || parts.includes('hour')) &&
    (!parts.includes('second') || parts.includes('minute'));
  if (!isComplete) return undefined;
  const expression = new RegExp(`^${pattern}$`, 'iu');
  return { text, parse: (given) => readMatch(expression.exec(given), tokens) };
}

function readMatch(match: RegExpExecArray | null, tokens: readonly Token[]): number | undefined {
  if (match === null) return undefined;
  const values: { [Name in Part]?: number } = {};
  for (const [index, { part, read = Number }] of tokens.entries())
    values[part] = read(match[index + 1] ?? '');
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, fraction = 0, half } = values;
  if (half !== undefined && (hour < 1 || hour > 12)) return undefined;
  const hours = half === undefined ? hour : (hour % 12) + half;
  const two = (value: number) => String(value).padStart(2, '0');
  const date = `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`;
  // The calendar and the clock are checked as in ISO 8601.
  return parseInstant(
    `${date}T${two(hours)}:${two(minute)}:${two(second)}.${String(fraction).padStart(3, '0')}Z`,
  );
}

const DAY_MS = 86_400_000;

/** What the clocks of the zone are ahead of UTC, in milliseconds. */
type OffsetAt = (utc: number) => number;

function createOffsetAt(timeZone: string): OffsetAt {
  const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
  return (utc) => {
    const [, sign, hours = 0, minutes = 0, seconds = 0] =
      /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(format.format(utc)) ?? [];
    const ahead = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
    return sign === '-' ? -ahead : ahead;
  };
}

/**
 * Local times of a zone. When clocks are set back, an hour comes twice: its first occurrence is meant. When they are set
 * forward, an hour is missing: a time in it is moved forward by the gap. JavaScript's `Date` and `Temporal` decide the same.
 */
function createToUtc(timeZone: string): ToUtc {
  const offsetAt = createOffsetAt(timeZone);
  return (local) => {
    // Offsets are less than a day, so these are the offsets before and after a change of the clocks near this time.
    const before = offsetAt(local - DAY_MS);
    const after = offsetAt(local + DAY_MS);
    const isAfter =
      before !== after && offsetAt(local - before) !== before && offsetAt(local - after) === after;
    return local - (isAfter ? after : before);
  };
}

export interface TimeOptions {
  /** An IANA name, for times without an offset. Default: UTC. */
  readonly timeZone?: string | undefined;
  /** Tried in this order. */
  readonly dateFormats?: readonly DateFormat[] | undefined;
}

/** How the times of a file are read. */
export interface LeadTimes {
  readonly parse: ParseTime;
  readonly read: Reader<number>;
}

/**
 * Reads ISO 8601 or, if formats are given, times in one of them. A time with an offset is always ISO 8601: it has one
 * meaning only.
 */
export function createLeadTimes({ timeZone, dateFormats = [] }: TimeOptions): LeadTimes {
  const toUtc = timeZone === undefined ? (local: number) => local : createToUtc(timeZone);
  if (dateFormats.length === 0) {
    const parse: ParseTime = (text) => parseInstant(text, toUtc);
    return { parse, read: createTimeReader(parse) };
  }
  const parse: ParseTime = (text) => {
    for (const { parse: parseLocal } of dateFormats) {
      const local = parseLocal(text);
      if (local !== undefined) return toUtc(local);
    }
    return parseInstant(text, () => undefined);
  };
  const names = dateFormats.map((format) => format.text).join(' or ');
  return { parse, read: createTimeReader(parse, `is not a time in the format ${names}`) };
}

const DATES: readonly string[] = [
  ...['DD.MM.YYYY', 'D.M.YYYY', 'DD.MM.YY', 'D.M.YY'],
  ...['MM/DD/YYYY', 'M/D/YYYY', 'MM/DD/YY', 'M/D/YY', 'DD/MM/YYYY', 'D/M/YYYY', 'DD/MM/YY', 'D/M/YY'],
  ...['MM-DD-YYYY', 'M-D-YYYY', 'DD-MM-YYYY', 'D-M-YYYY', 'YYYY/MM/DD', 'YYYY/M/D', 'YYYY.MM.DD'],
  ...['YYYY-MM-DD', 'DD-MMM-YYYY', 'D-MMM-YY', 'D MMM YYYY', 'D MMMM YYYY', 'MMM D, YYYY', 'MMMM D, YYYY'],
];
const TIMES: readonly string[] = [
  ...['', ' HH:mm', ' HH:mm:ss', ' H:mm', ' H:mm:ss', ' h:mm A', ' h:mm:ss A', ' h:mmA'],
  ...[', HH:mm', ', HH:mm:ss', ', H:mm', ', h:mm A', ', h:mm:ss A'],
];

const isDayFirst = (format: string): boolean => format.indexOf('D') < format.indexOf('M');

/** Common formats of spreadsheets and CRM systems, made on first use. */
let commonFormats: readonly DateFormat[] | undefined;
const getCommonFormats = (): readonly DateFormat[] => {
  commonFormats ??= DATES.flatMap((date) =>
    TIMES.flatMap((time) => createDateFormat(`${date}${time}`) ?? []),
  );
  return commonFormats;
};

/** Finds the format of the times of one field, in constant memory. */
export class DateFormatGuess {
  #formats: readonly DateFormat[] | undefined;

  /** A text that is not ISO 8601. */
  add(text: string): this {
    this.#formats = (this.#formats ?? getCommonFormats()).filter(({ parse }) => parse(text) !== undefined);
    return this;
  }

  /** Whether a format fits all texts. */
  get isPossible(): boolean {
    return this.#formats !== undefined && this.#formats.length > 0;
  }

  /** The formats that fit all texts, the likely one first: at most one with the day first, and one with the month first. */
  likely(dayFirst: boolean): readonly string[] {
    const formats = (this.#formats ?? []).map(({ text }) => text);
    const first = (isWanted: boolean) => formats.find((format) => isDayFirst(format) === isWanted);
    return [first(dayFirst), first(!dayFirst)].filter((format) => format !== undefined);
  }
}
