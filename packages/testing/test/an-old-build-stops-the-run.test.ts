import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import configure from '../../../vitest.config.ts';
import { ROOT } from '../../server/test/architecture/source-files.ts';
import { tempFolder } from '../harness/temp-folder.ts';
import { findOldBuild } from '../vitest/fresh-build.ts';

const STARTS_THE_PROGRAM = join(ROOT, 'packages/server/test/operations/serve-as-a-process.test.ts');
const IN_A_BROWSER = join(ROOT, 'packages/console/test/overview.test.ts');
const OF_SOURCES = join(ROOT, 'packages/server/test/http/200-lead-has-all-fields.test.ts');
const SOURCES = ['a.ts', 'worker.cjs', '0001_schema.sql', 'texts.json'].map(
  (name) => `packages/server/src/${name}`,
);

/** A repository with these files, written one second after the other. */
function makeRepository(...paths: readonly string[]): string {
  const root = tempFolder();
  for (const [second, path] of ['tsconfig.json', ...paths].entries()) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), '{ "references": [{ "path": "packages/server" }] }');
    utimesSync(join(root, path), 1_700_000_000 + second, 1_700_000_000 + second);
  }
  return root;
}

const BUILT = 'packages/server/dist/console/index.html';

it.each(
  SOURCES.flatMap((source) => [
    { what: 'a build', source, paths: [BUILT, source] },
    { what: 'no build', source, paths: [source] },
  ]),
)('$what before $source stops tests that use it, and no others', ({ source, paths }) => {
  const root = makeRepository(...paths);
  for (const test of [STARTS_THE_PROGRAM, IN_A_BROWSER])
    expect(findOldBuild(root, [OF_SOURCES, test])).toBe(
      `These tests use the build, which is older than ${source}: run npm run build.`,
    );
  expect(findOldBuild(root, [OF_SOURCES])).toBeUndefined();
});

it('every run compares them once, at its start', () => {
  const { test } = configure({ mode: 'test', command: 'serve' });
  expect(test?.globalSetup).toContain('./packages/testing/vitest/fresh-build.ts');
});

it('a build of these sources is used, whatever tests were changed since', () => {
  const tests = ['packages/server/test/a.test.ts', 'packages/server/dist/a.ts'];
  const root = makeRepository(...SOURCES, BUILT, ...tests);
  expect(findOldBuild(root, [STARTS_THE_PROGRAM])).toBeUndefined();
});
