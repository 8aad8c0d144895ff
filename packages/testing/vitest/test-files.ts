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

export interface ChosenTests {
  readonly sqlite: string[];
  readonly postgres: string[];
  /** What was left out, why, and how to run it. Empty: nothing. */
  readonly leftOut: string;
}

let files: readonly SourceFile[] | undefined;
/** Read once: that takes a tenth of a second. */
function allFiles(): readonly SourceFile[] {
  files ??= sourceFiles();
  return files;
}

const pathOf = ({ path }: SourceFile): string => path;
const isTest = ({ path }: SourceFile): boolean => path.endsWith('.test.ts');

export const testFiles = (): SourceFile[] => allFiles().filter(isTest);

export const testsOnSqlite = (): string[] =>
  testFiles()
    .filter((file) => !ABOUT_POSTGRES.test(file.path))
    .map(pathOf);

export function testsOnPostgres(): string[] {
  const choosing = new Set(testsThatImport(CHOICE));
  return testFiles()
    .filter((file) => !ABOUT_SQLITE.test(file.path))
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
  return testFiles()
    .filter((file) => !properties.has(file.path))
    .map(pathOf);
}

/** The test files that import a file or a module, directly or indirectly. */
export const testsThatImport = (target: string): string[] =>
  testsThatReach(({ imports }) => imports.includes(target));

const BROWSER = 'packages/testing/browser/page.ts';

/** The test files that run or read what `npm run build` makes: those that name it, start programs or open pages. */
export const testsOfTheBuild = (): string[] =>
  testsThatReach(
    ({ path, text, imports }) =>
      path === BROWSER ||
      (!/(?:^|\/)(?:src|tools)\//.test(path) && /\bdist\/|\bbin\/leadtap\.js['`]/.test(text)) ||
      (/(?:^|\/)test\//.test(path) && imports.includes('node:child_process')),
  );

function testsThatReach(isReached: (file: SourceFile) => boolean): string[] {
  const reached = new Set(allFiles().filter(isReached).map(pathOf));
  for (let size = -1; size !== reached.size; ) {
    size = reached.size;
    for (const { path, imports } of allFiles())
      if (imports.some((one) => reached.has(one))) reached.add(path);
  }
  return testFiles()
    .filter((file) => reached.has(file.path))
    .map(pathOf);
}
