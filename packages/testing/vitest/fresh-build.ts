/** Stops a run whose tests use a build that is older than its sources: they fail without a visible reason, or pass by mistake. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { testsOfTheBuild } from './test-files.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** What `npm run build` writes last, in each run. */
const LAST_BUILT = 'packages/server/dist/console/index.html';
const SOURCE = /\.(?:tsx?|cjs|css|html|json|sql)$/;
const NO_SOURCES = new Set(['node_modules', 'dist', 'test']);

export default function checkBuild(project: TestProject): void {
  // Called for each project as well.
  if (!project.isRootProject()) return;
  const problem = findOldBuild(ROOT, project.vitest.state.getPaths());
  if (problem === undefined) return;
  process.stderr.write(`${problem}\n`);
  process.exit(1);
}

/** What to say if these tests use the build, and a source was changed after it. */
export function findOldBuild(root: string, tests: readonly string[]): string | undefined {
  const builtAt = statSync(join(root, LAST_BUILT), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const { references }: { references: { path: string }[] } = JSON.parse(
    readFileSync(join(root, 'tsconfig.json'), 'utf8'),
  );
  const newer = references
    .flatMap(({ path }) => sourcesBelow(join(root, path)))
    .find((file) => statSync(file).mtimeMs > builtAt);
  if (newer === undefined) return undefined;
  const users = new Set(testsOfTheBuild());
  return tests.some((path) => users.has(relative(ROOT, path)))
    ? `These tests use the build, which is older than ${relative(root, newer)}: run npm run build.`
    : undefined;
}

const sourcesBelow = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return NO_SOURCES.has(entry.name) ? [] : sourcesBelow(path);
    return SOURCE.test(entry.name) ? [path] : [];
  });
