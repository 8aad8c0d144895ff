import { expect, test } from 'vitest';
import { getDocsPage } from './docs-page.ts';

const page = await getDocsPage();
type Theme = 'light' | 'dark';

function colour(theme: Theme, name: string): readonly number[] {
  const [, light = '', dark = ''] =
    new RegExp(`--${name}: light-dark\\(#([0-9a-f]+), #([0-9a-f]+)\\);`).exec(page) ?? [];
  const hex = theme === 'light' ? light : dark;
  const full = hex.length === 3 ? hex.replace(/./g, '$&$&') : hex;
  return [0, 2, 4].map((at) => Number.parseInt(full.slice(at, at + 2), 16) / 255);
}

/** Relative luminance, as WCAG 2 defines it. */
function luminance(channels: readonly number[]): number {
  const linear = channels.map((value) =>
    value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4,
  );
  const [red = 0, green = 0, blue = 0] = linear;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(theme: Theme, ink: string, paper: string): number {
  const [bright = 0, dim = 0] = [ink, paper]
    .map((name) => luminance(colour(theme, name)))
    .sort((a, b) => b - a);
  return (bright + 0.05) / (dim + 0.05);
}

const PAIRS = [
  ...['ink', 'soft', 'accent'].flatMap((ink) => [
    [ink, 'paper'],
    [ink, 'raised'],
  ]),
  ['ink', 'code'],
  ['accent', 'code'],
  ['slab-ink', 'slab'],
  ['slab-soft', 'slab'],
  ['warn-ink', 'warn'],
  ['fail-ink', 'fail'],
] as const;

test.each(['light', 'dark'] as const)('text on the %s page has a contrast of at least 4.5', (theme) => {
  for (const [ink = '', paper = ''] of PAIRS)
    expect([ink, paper, contrast(theme, ink, paper)]).toEqual([
      ink,
      paper,
      expect.toSatisfy((ratio) => ratio >= 4.5),
    ]);
});
