import { existsSync, statfsSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { HANG_LIMIT_MS } from './packages/testing/vitest/hang-limit.ts';
import { testsOnBothStores, testsWithoutProperties } from './packages/testing/vitest/on-both-stores.ts';

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Where Linux keeps files in memory: a test waits for no disk then, although each commit is synced. */
const IN_MEMORY = '/dev/shm';
const GIBIBYTE = 2 ** 30;

function hasRoom(folder: string): boolean {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize > 4 * GIBIBYTE;
}

// Servers and worker processes of the tests inherit it.
if (process.env['TMPDIR'] === undefined && hasRoom(IN_MEMORY)) process.env['TMPDIR'] = IN_MEMORY;

/** What is named as a test. */
export const TESTS = [
  'packages/*/test/**/*.test.ts',
  'integrations/*/test/**/*.test.ts',
  'test/**/*.test.ts',
];
/** Tests that prove something about one store have folders of their own. */
const ABOUT_SQLITE = ['packages/server/test/store/sqlite/**/*.test.ts'];
/** `vitest --mode fast` tests the core: contract, accounts, polls and what they are answered from, leads over HTTP. */
const FAST = [
  'packages/contract/test/**/*.test.ts',
  'packages/server/test/{accounts,cache,config,http,intake,held-polls}/**/*.test.ts',
];
const ABOUT_POSTGRES = ['packages/server/test/{store/postgres,faults}/**/*.test.ts'];

/** Its other build, for import, is made for bundlers: Node finds none of the files that it names. */
const n8nWorkflow = (name: string) => source(`./node_modules/${name}/dist/cjs/index.js`);
/** They run with the newest and with the oldest library of n8n that is supported. */
const N8N_TESTS = ['integrations/n8n/test/**/*.test.ts'];

/** `vitest --mode properties` runs the tests that try random values, and no others. */
const leftOut = (mode: string): string[] => (mode === 'properties' ? testsWithoutProperties() : []);

export default defineConfig(({ mode }) => ({
  resolve: {
    // The sources, not the build, so that coverage speaks of what people read.
    alias: {
      '@leadtap/contract/schemas': source('./packages/contract/src/schemas.ts'),
      '@leadtap/contract/openapi': source('./packages/contract/src/openapi.ts'),
      '@leadtap/contract': source('./packages/contract/src/index.ts'),
      '@leadtap/client/file': source('./packages/client/src/file.ts'),
      '@leadtap/client': source('./packages/client/src/index.ts'),
      '@leadtap/store-conformance': source('./packages/store-conformance/src/index.ts'),
      leadtap: source('./packages/server/src/index.ts'),
      'n8n-workflow': n8nWorkflow('n8n-workflow'),
    },
  },
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'sqlite',
          provide: { store: 'sqlite' },
          include: mode === 'fast' ? FAST : TESTS,
          exclude: [...ABOUT_POSTGRES, ...leftOut(mode)],
        },
      },
      {
        extends: true,
        resolve: { alias: { 'n8n-workflow': n8nWorkflow('n8n-workflow-2.11') } },
        test: {
          name: 'n8n 2.11',
          provide: { store: 'sqlite' },
          include: N8N_TESTS,
          exclude: leftOut(mode),
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
          include: [...testsOnBothStores(), ...ABOUT_POSTGRES],
          exclude: [...ABOUT_SQLITE, ...leftOut(mode)],
          // After the other one: a process that runs tests of both by turns would load everything anew each time.
          sequence: { groupOrder: 1 },
        },
      },
    ],
    globalSetup: ['./packages/testing/servers/shared-servers.ts'],
    setupFiles: ['./packages/testing/vitest/property-seed.ts', './packages/testing/vitest/wait-limit.ts'],
    pool: 'forks',
    // The tests share no state but the modules themselves; loading those anew for each file took two thirds of the time.
    isolate: false,
    // Much of the time they wait for a database or a process.
    maxWorkers: '150%',
    // They end tests that hang, after what these wait for themselves.
    testTimeout: 3 * HANG_LIMIT_MS,
    hookTimeout: 3 * HANG_LIMIT_MS,
    expect: { poll: { timeout: HANG_LIMIT_MS } },
    reporters: ['default', './packages/testing/vitest/summary-reporter.ts'],
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
}));
