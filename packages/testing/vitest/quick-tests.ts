/** The tests of `npm test`: those that run anywhere within five minutes. `npm run test:all` has all of them. */
import process from 'node:process';
import type { Program } from '../servers/find-program.ts';
import { CHROMIUM, POSTGRES, REDIS } from '../servers/programs.ts';
import { type ChosenTests, testsOnPostgres, testsOnSqlite, testsThatImport } from './test-files.ts';

/** They take long, or need programs that few machines have. */
const SLOW = [
  // The repository as a whole: what is deployed, installed, released, printed in documents, and long trials.
  /^test\/(deployment|installed|pollers)\//,
  /^test\/(documented|getting-leads-in|mixed-load|release|shell-blocks|soak|types-work|workflows)-/,
  // Servers that are killed, frozen, moved or upgraded.
  /^packages\/server\/test\/(faults\/|transfer\/|upgrades\/|delivery\/(every-way|killed)-)/,
  // The program as a process of its own.
  /^packages\/server\/test\/cli\/(bin|demo-removes|printed-commands|serve-is-readable)-/,
  /^packages\/server\/test\/operations\/(everything-reserved|serve-as-a-process|shutdown|typebox)/,
  /^packages\/server\/test\/store\/sqlite\/(import-reports|a-log-that)-/,
  /^packages\/client\/test\/(a-killed-consumer|instant-client|example-program|package-works)-/,
  // It loads a large linter.
  /^packages\/contract\/test\/openapi-passes-/,
  // A certificate is made with openssl.
  /^packages\/server\/test\/config\/foreign-certificates-/,
  // Thousands of events, or a whole simulated platform.
  /^packages\/server\/test\/hooks\/(hook-clients|leads-are-sent|names-are|receivers)-/,
  /^integrations\/workato\/|^integrations\/[^/]+\/test\/(events|instant)-/,
];

/** What the quick set has of the tests that need a server or a browser. */
const CORE_ON_POSTGRES =
  /^packages\/server\/test\/((accounts|cache)\/|store\/store-conforms|store\/postgres\/(every-writer|stamps))/;
const CORE_IN_BROWSER = /^packages\/console\/test\/(check-explains|leads-arrive|leads-survive|token-stays)-/;

/** Who imports such a file needs the program. */
const NEEDS: readonly (readonly [file: string, program: Program])[] = [
  ['packages/testing/harness/redis.ts', REDIS],
  ['packages/testing/servers/redis.ts', REDIS],
  ['packages/testing/browser/page.ts', CHROMIUM],
];

interface Candidate {
  readonly path: string;
  readonly program?: Program | undefined;
  readonly isCore: boolean;
}

/** By what this machine has. Nothing is installed. */
export function chooseQuickTests(): ChosenTests {
  const programs = new Map<string, Program>();
  for (const [file, program] of NEEDS) for (const path of testsThatImport(file)) programs.set(path, program);
  const onSqlite = testsOnSqlite().map((path): Candidate => {
    const program = programs.get(path);
    const isCore = program === CHROMIUM ? CORE_IN_BROWSER.test(path) : !SLOW.some((slow) => slow.test(path));
    return { path, program, isCore };
  });
  const onPostgres = testsOnPostgres().map(
    (path): Candidate => ({ path, program: POSTGRES, isCore: CORE_ON_POSTGRES.test(path) }),
  );
  for (const pattern of [...SLOW, CORE_ON_POSTGRES, CORE_IN_BROWSER])
    if (![...onSqlite, ...onPostgres].some(({ path }) => pattern.test(path)))
      throw new Error(`no test file has a path like ${pattern}: correct it in quick-tests.ts`);
  const missing = [POSTGRES, REDIS, CHROMIUM].filter((program) => !isFound(program));
  const choose = (candidates: readonly Candidate[]): string[] =>
    candidates
      .filter(({ isCore, program }) => isCore && !(program && missing.includes(program)))
      .map(({ path }) => path);
  return {
    sqlite: choose(onSqlite),
    postgres: choose(onPostgres),
    leftOut: describeLeftOut([...onSqlite, ...onPostgres], missing),
  };
}

const isFound = ({ variable, find }: Program): boolean =>
  (variable !== undefined && process.env[variable] !== undefined) || find() !== undefined;

function describeLeftOut(candidates: readonly Candidate[], missing: readonly Program[]): string {
  const core = candidates.filter(({ isCore }) => isCore);
  const counts = missing.map((program) => {
    const count = core.filter((candidate) => candidate.program === program).length;
    return `, ${count} that need ${program.name}, which was not found`;
  });
  return `Left out: ${candidates.length - core.length} test files that take long or test other parts${counts.join('')}.
npm run test:nightly runs everything, npm run test:all what each change must pass. They need the programs of CONTRIBUTING.md, "Tests and servers"; as root on Debian they install them.
`;
}
