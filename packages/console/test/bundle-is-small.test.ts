import { readdirSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const FOLDER = fileURLToPath(new URL('../../server/dist/console/console', import.meta.url));
const KILOBYTE = 1000;

const gzippedBytes = (extension: string): number => {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith(`.${extension}.gz`));
  expect(files.length).toBeGreaterThan(0);
  return files.reduce((bytes, name) => bytes + statSync(`${FOLDER}/${name}`).size, 0);
};

it('has at most 52 kB of JavaScript and 7 kB of CSS, gzipped', () => {
  expect(gzippedBytes('js')).toBeLessThanOrEqual(52 * KILOBYTE);
  expect(gzippedBytes('css')).toBeLessThanOrEqual(7 * KILOBYTE);
});

it('has nothing that the policy of the page forbids', () => {
  const script = readdirSync(FOLDER)
    .filter((name) => name.endsWith('.js'))
    .map((name) => readFileSync(`${FOLDER}/${name}`, 'utf8'))
    .join('\n');
  expect(script).not.toMatch(/\beval\(|new Function\(|\.innerHTML\s*=[^=]*["'`]</);
  expect(script).not.toMatch(/\bimport\(|sendBeacon|XMLHttpRequest|new WebSocket|serviceWorker/);
});
