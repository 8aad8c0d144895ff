import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseInstant } from '../src/leads/instant.ts';

describe('since accepts', () => {
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
});

/** `http/400-since-forms.test.ts` tries every form. These are the edges. */
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
    const month = fc.tuple(fc.integer({ min: 100, max: 9999 }), fc.integer({ min: 1, max: 12 }));
    fc.assert(
      fc.property(month, fc.integer({ min: 1, max: 68 }), ([year, month], excess) => {
        const last = new Date(Date.UTC(year, month, 0)).getUTCDate();
        const written = (day: number) =>
          [String(year).padStart(4, '0'), String(month).padStart(2, '0'), day].join('-');
        expect(parseInstant(written(last))).toBeDefined();
        expect(parseInstant(written(last + excess))).toBeUndefined();
      }),
    );
  });
});
