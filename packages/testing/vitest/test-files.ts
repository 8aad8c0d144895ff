/** Which test files run on which store, found by their names and imports: a new one is listed nowhere. */
import { type SourceFile, sourceFiles } from '../../server/test/architecture/source-files.ts';

/** Tests that prove something about one store have folders of their own. */
const ABOUT_SQLITE = /^packages\/server\/test\/store\/sqlite\//;
const ABOUT_POSTGRES = /^packages\/server\/test\/(store\/postgres|faults)\//;

/** Where a test gets its database from: the file that chooses between the stores. */
const CHOICE = 'packages/testing/harness/database.ts';

/** What speaks HTTP cannot tell the stores apart: its tests need one. */
const ABOUT_THE_SERVICE = /^(packages\/server|test(?!\/(pollers|n8n)))\//;

/** What happens before a store is called, or after it has answered. `store-conforms` tests what they call on every store. */
const BESIDE_THE_STORE =
  /^(test\/(?!acceptance)|packages\/server\/test\/((cli|console|import|limits|tokens)\/|(http|intake)\/[45]\d\d-))/;

const pathOf = ({ path }: SourceFile): string => path;
const isTest = ({ path }: SourceFile): boolean => path.endsWith('.test.ts');

export const testsOnSqlite = (): string[] =>
  sourceFiles()
    .filter((file) => isTest(file) && !ABOUT_POSTGRES.test(file.path))
    .map(pathOf);

export function testsOnPostgres(): string[] {
  const choosing = new Set(testsThatImport(CHOICE));
  return sourceFiles()
    .filter((file) => isTest(file) && !ABOUT_SQLITE.test(file.path))
    .filter((file) => ABOUT_POSTGRES.test(file.path) || (choosing.has(file.path) && isAboutTheStore(file)))
    .map(pathOf);
}

function isAboutTheStore({ path, imports, text }: SourceFile): boolean {
  if (!ABOUT_THE_SERVICE.test(path)) return false;
  // One that makes its own database, or asks which one it has, is about the store in any folder.
  return imports.includes(CHOICE) || text.includes("inject('store')") || !BESIDE_THE_STORE.test(path);
}

/** The test files that try no random values. */
export function testsWithoutProperties(): string[] {
  const properties = new Set(testsThatImport('fast-check'));
  return sourceFiles()
    .filter((file) => isTest(file) && !properties.has(file.path))
    .map(pathOf);
}

/** The test files that import a file or a module, directly or indirectly. */
export function testsThatImport(target: string): string[] {
  const files = new Map(sourceFiles().map((file) => [file.path, file]));
  const reaches = (file: SourceFile, seen: Set<string>): boolean =>
    file.imports.some((path) => {
      const imported = files.get(path);
      if (path === target) return true;
      if (!imported || seen.has(path)) return false;
      return reaches(imported, seen.add(path));
    });
  return [...files.values()].filter((file) => isTest(file) && reaches(file, new Set())).map(pathOf);
}
