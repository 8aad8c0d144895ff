import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../../server/test/architecture/source-files.ts';
import { tempFolder } from '../harness/temp-folder.ts';
import { findOldBuild } from '../vitest/fresh-build.ts';

const STARTS_THE_PROGRAM = join(ROOT, 'packages/server/test/operations/serve-as-a-process.test.ts');
const IN_A_BROWSER = join(ROOT, 'packages/console/test/overview.test.ts');
const OF_SOURCES = join(ROOT, 'packages/server/test/http/200-lead-has-all-fields.test.ts');
const SOURCE = 'packages/server/src/a.ts';

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

it.each([
  ['an old build', [BUILT, SOURCE]],
  ['no build', [SOURCE]],
])('%s stops tests that use it, and no others', (_what, paths) => {
  const root = makeRepository(...paths);
  for (const test of [STARTS_THE_PROGRAM, IN_A_BROWSER])
    expect(findOldBuild(root, [OF_SOURCES, test])).toMatch(
      / older than packages\/server\/src\/a\.ts: run npm run build\.$/,
    );
  expect(findOldBuild(root, [OF_SOURCES])).toBeUndefined();
});

it('a build of these sources is used, whatever tests were changed since', () => {
  const root = makeRepository(SOURCE, BUILT, 'packages/server/test/a.test.ts', 'packages/server/dist/a.ts');
  expect(findOldBuild(root, [STARTS_THE_PROGRAM])).toBeUndefined();
});
