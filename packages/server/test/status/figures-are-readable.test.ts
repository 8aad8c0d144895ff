import { describe, expect, it } from 'vitest';
import { formatBytes, formatDuration, formatTime, formatValue } from '../../src/status/formats.ts';
import { type Plot, renderHourBars, renderPlot } from '../../src/status/plots.ts';

describe('figures', () => {
  it.each([
    [-3, '0 s'],
    [0, '0 s'],
    [0.4, '0 s'],
    [59.6, '1 min'],
    [90, '1 min 30 s'],
    [599, '9 min 59 s'],
    [605, '10 min'],
    [3600, '1 h'],
    [7261, '2 h 1 min'],
    [86_400, '1 day'],
    [200_000, '2 days 8 h'],
  ])('%d seconds are %s', (seconds, text) => expect(formatDuration(seconds)).toBe(text));

  it.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1536, '1.5 KiB'],
    [268_435_456, '256 MiB'],
    [80_244_289_536, '75 GiB'],
  ])('%d bytes are %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text));

  it.each([
    [0, '0'],
    [0.03333, '0.033'],
    [4.2, '4.2'],
    [99.96, '100'],
    [1234.5, '1,235'],
  ])('the value %d is %s', (value, text) => expect(formatValue(value)).toBe(text));

  it('times have their zone, and the year if it is another one', () => {
    const now = Date.UTC(2026, 10, 16, 5, 41, 7);
    expect(formatTime(now, now)).toBe('16 Nov 05:41:07 UTC');
    expect(formatTime(Date.UTC(2025, 0, 2), now)).toBe('2 Jan 2025 00:00:00 UTC');
  });
});

const HOUR_MS = 3_600_000;
const PLOT: Plot = {
  ...{
    title: 'Polls',
    unit: '/s',
    shape: 'steps',
    from: 0,
    stepMs: 60_000,
    figure: '3',
    empty: 'No polls yet',
  },
  series: [{ kind: 'main', name: 'polls', values: [] }],
};
const plot = (values: (number | null)[], rest: Partial<Plot> = {}): string =>
  renderPlot({ ...PLOT, series: [{ kind: 'main', name: 'polls', values }], ...rest }).markup;

describe('plots', () => {
  it('say that there are no values', () => {
    for (const values of [[], [null, null]]) {
      expect(plot(values)).toContain('<p class="empty">No polls yet</p>');
      expect(plot(values)).not.toContain('<svg');
    }
  });

  it('of zeros have a base line and a scale', () => {
    expect(plot([0, 0])).toContain('class="line main" d="M0 59H120V59H240"');
    expect(plot([0, 0])).toContain('>1/s</p>');
  });

  it('have gaps, and a value between two gaps is visible', () => {
    expect(plot([null, 5, null, 2.5, 5])).toContain('class="line main" d="M48 1H96M144 30H192V1H240"');
  });

  it('have a round scale, and the highest value for screen readers', () => {
    expect(plot([130, 7])).toContain('>200/s</p>');
    expect(plot([130, 7])).toContain('role="img" aria-label="Polls: 3; highest 130/s"');
  });

  it('stack the series of a step', () => {
    const markup = plot([], {
      shape: 'bars',
      series: [
        { kind: 'amber', name: '429', values: [1, 0, null] },
        { kind: 'red', name: '5xx', values: [1, null, null] },
      ],
    });
    expect(markup).toContain('class="bar amber" d="M8 59V30H72V59Z"');
    expect(markup).toContain('class="bar red" d="M8 30V1H72V30Z"');
    expect(markup).toContain('<li class="amber">429: 1</li><li class="red">5xx: 1</li>');
  });

  it('have their values for the pointer, and the day on an axis of more than an hour', () => {
    expect(plot([1, null, 2.5])).toContain('data-names="polls" data-values="1,,2.5"');
    expect(plot([1, 2])).toContain('<span><time datetime="1970-01-01T00:00:00.000Z">00:00</time> UTC</span>');
    expect(plot([1, 2], { stepMs: HOUR_MS })).toContain('>1 Jan 00:00</time> UTC</span>');
    expect(plot([1, 2], { stepMs: HOUR_MS })).toContain('>1 Jan 01:00</time>');
  });

  it('of a consumer show hours without polls', () => {
    const { markup } = renderHourBars([0, 4, 2], 3 * HOUR_MS);
    expect(markup).toContain('class="gap" d="M0 20v-1.5h31v1.5z"');
    expect(markup).toContain('class="bar main" d="M32 20v-20h31v20zM64 20v-11.5h31v11.5z"');
    expect(markup).toContain(
      'data-from="3600000" data-step="3600000" data-unit="" data-names="polls" data-values="0,4,2"',
    );
    expect(markup).toContain('Polls at this instance in 24 hours: 6, at most 4 in an hour');
  });
});
