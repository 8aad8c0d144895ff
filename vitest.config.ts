import { accessSync, constants, statfsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { INSTALL_VARIABLE } from './packages/testing/servers/debian.ts';
import { chooseChangeTests } from './packages/testing/vitest/change-tests.ts';
import { findChange } from './packages/testing/vitest/changed-files.ts';
import { TEST_LIMIT_MS, WAIT_LIMIT_MS } from './packages/testing/vitest/limits.ts';
import { NIGHTLY_VARIABLE } from './packages/testing/vitest/nightly.ts';
import { chooseQuickTests } from './packages/testing/vitest/quick-tests.ts';
import SummaryReporter from './packages/testing/vitest/summary-reporter.ts';
import {
  type ChosenTests,
  testsOnPostgres,
  testsOnSqlite,
  testsWithoutProperties,
} from './packages/testing/vitest/test-files.ts';

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Where Linux keeps files in memory: a test waits for no disk then, although each commit is synced. */
const IN_MEMORY = '/dev/shm';
const GIBIBYTE = 2 ** 30;

function hasRoom(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize > 2 * GIBIBYTE;
  } catch {
    return false;
  }
}

// Servers and worker processes of the tests inherit it.
if (process.env['TMPDIR'] === undefined && hasRoom(IN_MEMORY)) process.env['TMPDIR'] = IN_MEMORY;

/** Its other build, for import, is made for bundlers: Node finds none of the files that it names. */
const n8nWorkflow = (name: string) => source(`./node_modules/${name}/dist/cjs/index.js`);
/** They run with the newest and with the oldest library of n8n that is supported. */
const N8N_TESTS = ['integrations/n8n/test/**/*.test.ts'];

/** `npm test` is `vitest --mode quick`, `npm run test:all` is `--mode all`. Every other mode has all tests. */
function chooseTests(mode: string): ChosenTests & { readonly n8n: string[] } {
  if (mode === 'quick') return { ...chooseQuickTests(), n8n: [] };
  if (mode === 'all') {
    const { hasOldestN8n, ...tests } = chooseChangeTests(
      findChange(source('.'), process.env['TEST_BASE'] || undefined),
    );
    return { ...tests, n8n: hasOldestN8n ? N8N_TESTS : [] };
  }
  const leftOut = mode === 'nightly' ? `With PROPERTY_SEED=${process.env['PROPERTY_SEED']}.\n` : '';
  return { sqlite: testsOnSqlite(), postgres: testsOnPostgres(), n8n: N8N_TESTS, leftOut };
}

export default defineConfig(({ mode }) => {
  // The processes of the tests inherit it.
  if (mode === 'all' || mode === 'nightly') process.env[INSTALL_VARIABLE] ??= 'on';
  if (mode === 'nightly') {
    process.env['PROPERTY_SEED'] ??= new Date().toISOString().slice(0, 10).replaceAll('-', '');
    process.env[NIGHTLY_VARIABLE] = 'on';
  }
  const tests = chooseTests(mode);
  // `vitest --mode properties` runs the tests that try random values, and no others.
  const exclude = mode === 'properties' ? testsWithoutProperties() : [];
  return {
    resolve: {
      // The sources, not the build, so that coverage speaks of what people read.
      alias: {
        '@leadtap/contract/schemas': source('./packages/contract/src/schemas.ts'),
        '@leadtap/contract/openapi': source('./packages/contract/src/openapi.ts'),
        '@leadtap/contract': source('./packages/contract/src/index.ts'),
        '@leadtap/client/file': source('./packages/client/src/file.ts'),
        '@leadtap/client': source('./packages/client/src/index.ts'),
        leadtap: source('./packages/server/src/index.ts'),
        'n8n-workflow': n8nWorkflow('n8n-workflow'),
      },
    },
    test: {
      projects: [
        {
          extends: true,
          test: { name: 'sqlite', provide: { store: 'sqlite' }, include: tests.sqlite, exclude },
        },
        {
          extends: true,
          resolve: { alias: { 'n8n-workflow': n8nWorkflow('n8n-workflow-2.11') } },
          test: {
            name: 'n8n 2.11',
            provide: { store: 'sqlite' },
            include: tests.n8n,
            exclude,
            sequence: { groupOrder: 2 },
            // For ten files, each further process would take longer to load everything than to test.
            maxWorkers: 1,
          },
        },
        {
          extends: true,
          test: {
            name: 'postgres',
            provide: { store: 'postgres' },
            include: tests.postgres,
            exclude,
            // After the other one: a process that runs tests of both by turns would load everything anew each time.
            sequence: { groupOrder: 1 },
          },
        },
      ],
      globalSetup: [
        './packages/testing/vitest/fresh-build.ts',
        './packages/testing/servers/shared-servers.ts',
      ],
      setupFiles: ['./packages/testing/vitest/property-seed.ts', './packages/testing/vitest/wait-limit.ts'],
      pool: 'forks',
      // The tests share no state but the modules themselves; loading those anew for each file took two thirds of the time.
      isolate: false,
      // Four tenths of the time they wait for a database or a process. A percentage is of the cores, and at most all of them.
      maxWorkers: Math.max(3, availableParallelism()),
      testTimeout: TEST_LIMIT_MS,
      hookTimeout: TEST_LIMIT_MS,
      expect: { poll: { timeout: WAIT_LIMIT_MS } },
      reporters: ['default', new SummaryReporter(tests.leftOut)],
      coverage: {
        provider: 'v8',
        include: [
          'packages/*/src/**/*.ts',
          'integrations/zapier/src/**/*.ts',
          'integrations/n8n/node/{credentials,nodes}/**/*.ts',
        ],
        // It runs in a browser, where its coverage is not measured.
        exclude: ['packages/console/**'],
        reporter: ['text-summary', 'html'],
        thresholds: { lines: 95 },
      },
    },
  };
});
