import { describe, expect, it } from 'vitest';
import { formatBytes, formatDuration } from '../../src/lib/formats.ts';

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
});
