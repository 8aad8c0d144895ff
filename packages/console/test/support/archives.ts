import { readFileSync } from 'node:fs';
import { PACKAGES } from '../../downloads.ts';

const manifestOf = (path: string): { name: string; version: string } =>
  JSON.parse(readFileSync(new URL(`../../../../${path}/package.json`, import.meta.url), 'utf8'));

export const { version: VERSION } = manifestOf('packages/console');

/** The names of the archives that Connect offers. */
export const ARCHIVES: readonly string[] = PACKAGES.map((path) => {
  const { name, version } = manifestOf(path);
  return `${name.replace('@', '').replace('/', '-')}-${version}.tgz`;
});
