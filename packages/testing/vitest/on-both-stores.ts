import { type SourceFile, sourceFiles } from '../../server/test/architecture/source-files.ts';

/** Where a test gets its database from: the file that chooses between the stores. */
const CHOICE = 'packages/testing/harness/database.ts';

/** What speaks HTTP cannot tell the stores apart: its tests need one. */
const ABOUT_THE_SERVICE = /^(packages\/server|test(?!\/(pollers|n8n)))\//;

/** The test files that reach it by their imports: they run on every store, without being listed anywhere. */
export function testsOnBothStores(): string[] {
  const files = new Map(sourceFiles().map((file) => [file.path, file]));
  const reaches = (file: SourceFile, seen: Set<string>): boolean =>
    file.imports.some((path) => {
      const imported = files.get(path);
      if (path === CHOICE) return true;
      if (!imported || seen.has(path)) return false;
      return reaches(imported, seen.add(path));
    });
  const tests = [...files.values()].filter(
    ({ path }) => ABOUT_THE_SERVICE.test(path) && path.endsWith('.test.ts'),
  );
  return tests.filter((file) => reaches(file, new Set())).map(({ path }) => path);
}
