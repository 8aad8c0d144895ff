/** The tests of `npm run test:all`: what each change must pass. `npm run test:nightly` has all of them. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT, type SourceFile } from '../../server/test/architecture/source-files.ts';
import type { Change } from './changed-files.ts';
import { type ChosenTests, testFiles, testsOnPostgres, testsOnSqlite } from './test-files.ts';

/** Shared tests of what the stores do differently: conformance, accounts, delivery, upgrades; and of an installation. */
const ON_BOTH_STORES =
  /^(test\/acceptance|packages\/server\/test\/(accounts|cache|delivery|store|upgrades))\//;
/** A shared test of another folder that depends on locks, commits, the change log or a restart has this line. */
const BOTH_STORES = /^\/\/ @both-stores for each change$/m;
/** A test of packages, documents or other programs names what it depends on: files, `folders/` and `*endings`. */
const NIGHTLY = /^\/\/ @nightly and after a change of (.+)$/m;

/** What its tests with the oldest library of n8n depend on. */
const N8N = ['integrations/n8n/', 'packages/contract/src/', 'package-lock.json'];

export interface ChangeTests extends ChosenTests {
  /** Whether the tests of n8n run with its oldest library as well. */
  readonly hasOldestN8n: boolean;
}

export function chooseChangeTests(change: Change | undefined): ChangeTests {
  const files = testFiles();
  const [onSqlite, onPostgres] = [new Set(testsOnSqlite()), new Set(testsOnPostgres())];
  const unchanged = files.filter((file) => isUnchanged(file, change)).map(({ path }) => path);
  const hasOldestN8n = touches(change, N8N);
  const onSqliteAlone = files
    .filter(({ path, text }) => !ON_BOTH_STORES.test(path) && !BOTH_STORES.test(text))
    .map(({ path }) => path)
    .filter((path) => onSqlite.has(path) && onPostgres.has(path));
  const without = (paths: ReadonlySet<string>, ...left: readonly string[]) =>
    [...paths].filter((path) => !left.includes(path));
  return {
    sqlite: without(onSqlite, ...unchanged),
    postgres: without(onPostgres, ...unchanged, ...onSqliteAlone),
    hasOldestN8n,
    leftOut: describeLeftOut(
      hasOldestN8n ? unchanged : [...unchanged, 'integrations/n8n/test, with the oldest library of n8n'],
      onSqliteAlone,
      change,
    ),
  };
}

/** Whether a change leaves what this test depends on as it was. */
function isUnchanged({ path, text }: SourceFile, change: Change | undefined): boolean {
  const dependencies = NIGHTLY.exec(text)?.[1]?.split(' ');
  if (dependencies === undefined) return false;
  const missing = dependencies.find((one) => !one.startsWith('*') && !existsSync(join(ROOT, one)));
  if (missing !== undefined) throw new Error(`${path} depends on ${missing}, which does not exist`);
  return !touches(change, [path, ...dependencies]);
}

/** If git cannot say what changed, everything may have. */
const touches = (change: Change | undefined, dependencies: readonly string[]): boolean =>
  change === undefined || [...change.files].some((file) => dependencies.some((one) => isBelow(file, one)));

function isBelow(file: string, dependency: string): boolean {
  if (dependency.startsWith('*')) return file.endsWith(dependency.slice(1));
  return dependency.endsWith('/') ? file.startsWith(dependency) : file === dependency;
}

function describeLeftOut(
  unchanged: readonly string[],
  onSqliteAlone: readonly string[],
  change: Change | undefined,
): string {
  const folders = new Map<string, number>();
  for (const folder of onSqliteAlone.map((path) => dirname(path)))
    folders.set(folder, (folders.get(folder) ?? 0) + 1);
  const why = change
    ? `nothing that they depend on differs from ${change.base}`
    : 'git cannot say what changed';
  return `Left to npm run test:nightly:
- ${unchanged.length} test files, because ${why}${unchanged.map((path) => `\n    ${path}`).join('')}
- ${onSqliteAlone.length} test files on PostgreSQL, because they run on SQLite, and store-conforms tests both stores:
${[...folders].map(([folder, count]) => `    ${count} of ${folder}`).join('\n')}
- pages of phones in the dark theme, and wide ones in the light theme, because axe takes long
- new values of property tests, and more of the slow ones
- the planted faults
`;
}
