import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { VERSION } from '../../src/lib/version.ts';
import { RELEASES, VERSIONS } from './release.ts';

test('every version before this one has a fixture, and the last one has its program', () => {
  const changelog = readFileSync(new URL('../../../../CHANGELOG.md', import.meta.url), 'utf8');
  const versions = [...changelog.matchAll(/^## \[(\d+\.\d+\.\d+)\]/gm)].map(([, version]) => version ?? '');
  expect(VERSIONS).toEqual(expect.arrayContaining(versions.filter((version) => version !== VERSION)));
  expect(readdirSync(new URL(VERSIONS.at(-1) ?? '', RELEASES))).toContain('program.tar.br');
});
