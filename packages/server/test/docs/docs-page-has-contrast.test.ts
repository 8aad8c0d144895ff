import { expect, test } from 'vitest';
import { getDocsPage } from './docs-page.ts';

const page = await getDocsPage();
/** The palettes, in their order: light, dark as the system prefers it, dark as the visitor chose it. */
const [light = '', dark = '', chosenDark = ''] = [...page.matchAll(/:root[^{]*\{([\s\S]*?)\}/g)].map(
  (match) => match[1] ?? '',
);

function colour(theme: string, name: string): readonly number[] {
  const hex = new RegExp(`--${name}: #([0-9a-f]+);`).exec(theme)?.[1] ?? '';
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

function contrast(theme: string, ink: string, paper: string): number {
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

test('dark is the same whether the system or the visitor chooses it', () => {
  const variables = (theme: string) => theme.match(/--[\w-]+: \S+;/g);
  expect(variables(chosenDark)).toEqual(variables(dark));
  expect(variables(dark)).toHaveLength(variables(light)?.length ?? 0);
});

test.each([
  ['light', light],
  ['dark', dark],
])('text on the %s page has a contrast of at least 4.5', (_name, theme) => {
  for (const [ink = '', paper = ''] of PAIRS)
    expect([ink, paper, contrast(theme, ink, paper)]).toEqual([
      ink,
      paper,
      expect.toSatisfy((ratio) => ratio >= 4.5),
    ]);
});
