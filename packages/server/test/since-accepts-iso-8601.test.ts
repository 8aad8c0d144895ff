import { SINCE_FORMS } from '@leadtap/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseInstant } from '../src/leads/instant.ts';

const MINUTE_MS = 60_000;
const digits = (count: number) => (value: number) => String(value).padStart(count, '0');
const two = digits(2);

/** A day as its year, month and day, from 1 January 0100: the first year that Date.UTC takes as it is. */
const day = fc
  .date({ min: new Date('0100-01-02T00:00:00Z'), max: new Date('9999-12-30T00:00:00Z'), noInvalidDate: true })
  .map((date) => [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()] as const);

const timeOfDay = fc.tuple(fc.nat(23), fc.nat(59), fc.nat(59));

const fraction = fc.array(fc.nat(9), { maxLength: 9 }).map((list) => list.join(''));

/** An offset as it may be written, with what it is worth in minutes. */
const offset = fc.oneof(
  fc.constantFrom('', 'Z', 'z').map((text) => ({ text, minutes: 0 })),
  fc
    .tuple(fc.constantFrom('+', '-', ' '), fc.nat(23), fc.nat(59), fc.constantFrom(':', ''))
    .map(([sign, hours, minutes, colon]) => ({
      text: `${sign}${two(hours)}${colon}${two(minutes)}`,
      minutes: (sign === '-' ? -1 : 1) * (hours * 60 + minutes),
    })),
  fc.tuple(fc.constantFrom('+', '-'), fc.nat(23)).map(([sign, hours]) => ({
    text: `${sign}${two(hours)}`,
    minutes: (sign === '-' ? -1 : 1) * hours * 60,
  })),
);

const written = (date: readonly number[]) =>
  `${digits(4)(date[0] ?? 0)}-${two(date[1] ?? 0)}-${two(date[2] ?? 0)}`;

describe('since accepts', () => {
  test('every date-time, in every form of separator, fraction and offset', () => {
    fc.assert(
      fc.property(
        day,
        timeOfDay,
        fc.constantFrom('T', 't', ' '),
        fraction,
        offset,
        (date, time, separator, part, zone) => {
          const [year, month, dayOfMonth] = date;
          const dot = part === '' ? '' : `.${part}`;
          const text = `${written(date)}${separator}${time.map(two).join(':')}${dot}${zone.text}`;
          const whole = Date.UTC(year, month - 1, dayOfMonth, ...time);
          const cut = Math.floor(Number(`0.${part.slice(0, 3) || '0'}`) * 1000 + 1e-6);
          expect(parseInstant(text)).toBe(whole + cut - zone.minutes * MINUTE_MS);
        },
      ),
    );
  });

  test('a date alone, as its midnight in UTC', () => {
    fc.assert(
      fc.property(day, (date) => {
        expect(parseInstant(written(date))).toBe(Date.UTC(date[0], date[1] - 1, date[2]));
      }),
    );
  });

  test('what Leadtap itself writes', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: Date.parse('0000-01-01T00:00:00Z'), max: Date.parse('9999-12-31T23:59:59.999Z') }),
        (ms) => {
          expect(parseInstant(new Date(ms).toISOString())).toBe(ms);
        },
      ),
    );
  });

  test.each([
    ['the years before 100 as they stand', '0042-05-06T07:08:09Z', '0042-05-06T07:08:09.000Z'],
    ['29 February of a leap year', '2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['29 February of the year 2000', '2000-02-29', '2000-02-29T00:00:00.000Z'],
    ['nine digits, cut and not rounded', '2026-03-02T09:30:00.123999999Z', '2026-03-02T09:30:00.123Z'],
    ['no seconds, as a browser sends it', '2026-12-01T09:00', '2026-12-01T09:00:00.000Z'],
    ['no seconds, as a spreadsheet has it', '2026-11-02 14:03', '2026-11-02T14:03:00.000Z'],
    ['no seconds, and an offset', '2026-03-02T09:30+02:00', '2026-03-02T07:30:00.000Z'],
    ['one digit as tenths', '2026-03-02T09:30:00.5Z', '2026-03-02T09:30:00.500Z'],
    ['a plus that became a space', '2026-03-02T09:30:00 02:00', '2026-03-02T07:30:00.000Z'],
    ['what its offset moves before the year 0', '0000-01-01T00:00:00+01:00', '0000-01-01T00:00:00.000Z'],
    ['what its offset moves beyond the year 9999', '9999-12-31T23:30:00-01:00', '9999-12-31T23:59:59.999Z'],
  ])('%s', (_what, text, expected) => {
    expect(new Date(parseInstant(text) ?? Number.NaN).toISOString()).toBe(expected);
  });

  test.each(SINCE_FORMS)('$form, as the documentation says', ({ example, readAs }) => {
    expect(parseInstant(example)).toBe(Date.parse(readAs));
  });
});

const REFUSED = [
  '',
  'yesterday',
  '1767225600000',
  '2026-3-2',
  '2026-02-30',
  '2026-02-29',
  '1900-02-29',
  '2026-00-10',
  '2026-13-01',
  '2026-01-00',
  '2026-04-31',
  '2026-03-02T24:00:00Z',
  '2026-03-02T09:60:00Z',
  '2026-03-02T09:30:60Z',
  '2026-03-02T09:30.5Z',
  '2026-03-02T09:60Z',
  '2026-03-02T09Z',
  '2026-03-02Z',
  '2026-03-02T',
  '2026-03-02T09:30:00.Z',
  '2026-03-02T09:30:00.1234567890Z',
  '2026-03-02T09:30:00,5Z',
  '2026-03-02T09:30:00+24:00',
  '2026-03-02T09:30:00+02:60',
  '2026-03-02T09:30:00+2',
  '2026-03-02T09:30:00 Z',
  ' 2026-03-02T09:30:00Z',
  '2026-03-02T09:30:00Z ',
  '2026-03-02T09:30:00Z\n',
  '+002026-03-02T09:30:00Z',
  '-0001-01-01',
  '2026-W10-1',
  '20260302T093000Z',
  '٢٠٢٦-03-02',
];

describe('since rejects', () => {
  test.each(REFUSED)('%j', (text) => {
    expect(parseInstant(text)).toBeUndefined();
  });

  test('days that the month does not have', () => {
    const monthAndExcess = fc.tuple(
      fc.integer({ min: 100, max: 9999 }),
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 1, max: 68 }),
    );
    fc.assert(
      fc.property(monthAndExcess, ([year, month, excess]) => {
        const last = new Date(Date.UTC(year, month, 0)).getUTCDate();
        expect(parseInstant(written([year, month, last]))).toBeDefined();
        expect(parseInstant(written([year, month, last + excess]))).toBeUndefined();
      }),
    );
  });
});
