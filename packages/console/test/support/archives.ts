import { readFileSync } from 'node:fs';
import { PACKAGES } from '../../downloads.ts';

/** The names of the archives that Connect offers. */
export const ARCHIVES: readonly string[] = PACKAGES.map((path) => {
  const manifest = readFileSync(new URL(`../../../../${path}/package.json`, import.meta.url), 'utf8');
  const { name, version }: { name: string; version: string } = JSON.parse(manifest);
  return `${name.replace('@', '').replace('/', '-')}-${version}.tgz`;
});
