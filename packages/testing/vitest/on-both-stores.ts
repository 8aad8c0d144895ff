import { type SourceFile, sourceFiles } from '../../server/test/architecture/source-files.ts';

/** Where a test gets its database from: the file that chooses between the stores. */
const CHOICE = 'packages/testing/harness/database.ts';

/** What speaks HTTP cannot tell the stores apart: its tests need one. */
const ABOUT_THE_SERVICE = /^(packages\/server|test(?!\/(pollers|n8n)))\//;

/** The test files that reach it by their imports: they run on every store, without being listed anywhere. */
export const testsOnBothStores = (): string[] =>
  testsThatImport(CHOICE).filter((path) => ABOUT_THE_SERVICE.test(path));

/** The test files that try no random values. */
export function testsWithoutProperties(): string[] {
  const properties = new Set(testsThatImport('fast-check'));
  return sourceFiles()
    .map(({ path }) => path)
    .filter((path) => path.endsWith('.test.ts') && !properties.has(path));
}

/** The test files that import a file or a module, directly or indirectly. */
function testsThatImport(target: string): string[] {
  const files = new Map(sourceFiles().map((file) => [file.path, file]));
  const reaches = (file: SourceFile, seen: Set<string>): boolean =>
    file.imports.some((path) => {
      const imported = files.get(path);
      if (path === target) return true;
      if (!imported || seen.has(path)) return false;
      return reaches(imported, seen.add(path));
    });
  const tests = [...files.values()].filter(({ path }) => path.endsWith('.test.ts'));
  return tests.filter((file) => reaches(file, new Set())).map(({ path }) => path);
}
