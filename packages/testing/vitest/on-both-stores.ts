import { type SourceFile, sourceFiles } from '../../server/test/architecture/source-files.ts';

/** Where a test gets its database from: the file that chooses between the stores. */
const CHOICE = 'packages/testing/harness/database.ts';

/** What speaks HTTP cannot tell the stores apart: its tests need one. */
const ABOUT_THE_SERVICE = /^(packages\/server|test(?!\/(pollers|n8n)))\//;

/** What happens before a store is called, or after it has answered. `store-conforms` tests what they call on every store. */
const BESIDE_THE_STORE =
  /^(test\/(?!acceptance)|packages\/server\/test\/((cli|console|import|limits|tokens)\/|(http|intake)\/[45]\d\d-))/;

/** Makes its own database, or asks which one it has. */
const isAboutTheStore = ({ imports, text }: SourceFile): boolean =>
  imports.includes(CHOICE) || text.includes("inject('store')");

/** The test files that reach it by their imports: they run on every store, without being listed anywhere. */
export const testsOnBothStores = (): string[] =>
  testsThatImport(CHOICE)
    .filter((file) => ABOUT_THE_SERVICE.test(file.path))
    .filter((file) => isAboutTheStore(file) || !BESIDE_THE_STORE.test(file.path))
    .map(({ path }) => path);

/** The test files that try no random values. */
export function testsWithoutProperties(): string[] {
  const properties = new Set(testsThatImport('fast-check').map(({ path }) => path));
  return sourceFiles()
    .map(({ path }) => path)
    .filter((path) => path.endsWith('.test.ts') && !properties.has(path));
}

/** The test files that import a file or a module, directly or indirectly. */
function testsThatImport(target: string): SourceFile[] {
  const files = new Map(sourceFiles().map((file) => [file.path, file]));
  const reaches = (file: SourceFile, seen: Set<string>): boolean =>
    file.imports.some((path) => {
      const imported = files.get(path);
      if (path === target) return true;
      if (!imported || seen.has(path)) return false;
      return reaches(imported, seen.add(path));
    });
  const tests = [...files.values()].filter(({ path }) => path.endsWith('.test.ts'));
  return tests.filter((file) => reaches(file, new Set()));
}
