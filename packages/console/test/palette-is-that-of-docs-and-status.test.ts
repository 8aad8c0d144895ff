import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

const declarations = (css: string): [string, string][] =>
  [...css.matchAll(/--([\w-]+): ([^;]+);/g)].map(([, name = '', value = '']) => [name, value]);

type Palette = Record<string, { light: string; dark: string }>;

/** A palette of `light-dark()` pairs. */
const pairs = (css: string): Palette =>
  Object.fromEntries(
    declarations(css).flatMap(([name, value]) => {
      const [, light, dark] = /^light-dark\((#\w+), (#\w+)\)$/.exec(value) ?? [];
      return light && dark ? [[name, { light, dark }]] : [];
    }),
  );

/** A palette that is declared for the light theme, then again for the dark one. */
function blocks(css: string): Palette {
  const [light = '', dark = ''] = css.split('@media (prefers-color-scheme: dark)');
  const darkColours = new Map(declarations(dark.slice(0, dark.indexOf('\n}'))));
  return Object.fromEntries(
    declarations(light).map(([name, value]) => [name, { light: value, dark: darkColours.get(name) ?? '' }]),
  );
}

const CONSOLE = pairs(read('packages/console/src/styles/tokens.css'));

it.each([
  ['/docs', 'tools/generate/docs-page/style.css'],
  ['/status', 'packages/server/assets/status.css'],
])('%s has the colours of the console', (_page, path) => {
  const shared = Object.entries(blocks(read(path))).filter(([name]) => name in CONSOLE);
  expect(shared.length).toBeGreaterThan(8);
  for (const [name, colours] of shared) expect({ name, ...colours }).toEqual({ name, ...CONSOLE[name] });
});
