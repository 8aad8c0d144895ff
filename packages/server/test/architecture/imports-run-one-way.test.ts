import { describe, expect, it } from 'vitest';
import { type SourceFile, sourceFiles } from './source-files.ts';

/** Every part of packages/server/src, and the parts that it may import. */
const MAY_IMPORT = {
  // `limits/redis` only for `doctor`, which checks that Redis responds.
  cli: [
    'app',
    'open-store',
    'config',
    'ops',
    'status',
    'hooks',
    'leads',
    'accounts',
    'limits/redis',
    'store',
  ],
  'open-store': ['config', 'store', 'store/sqlite', 'store/postgres'],
  app: [
    'build-app',
    'http',
    'hooks',
    'leads',
    'open-store',
    'config',
    'ops',
    'status',
    'accounts',
    'limits/open-limiters',
    'store',
  ],
  'build-app': ['cache', 'http', 'hooks', 'limits', 'store'],
  ops: ['status', 'http', 'leads', 'store'],
  status: ['http', 'leads', 'store'],
  http: ['cache', 'hooks', 'leads', 'accounts', 'limits', 'store'],
  hooks: ['cache', 'store'],
  cache: ['leads', 'store'],
  leads: ['store'],
  accounts: ['store'],
  limits: [],
  'limits/open-limiters': ['limits', 'limits/redis'],
  'limits/redis': ['limits'],
  store: [],
  'store/sqlite': ['store'],
  'store/postgres': ['store'],
  config: [],
  // The public surface.
  index: ['http', 'leads', 'accounts', 'limits', 'store', 'store/sqlite', 'store/postgres'],
} satisfies Record<string, readonly string[]>;

/** They import no other part; every part may import them. */
const FOUNDATION = [
  'signing-secret',
  'clock',
  'event-loop',
  'version',
  'system-error',
  'timeout',
  'nearest-name',
  'escape',
  'nearest-existing',
  'migration-files',
];

/** The parts that may use a package. All may use `@leadtap/contract`. */
const MAY_USE = {
  typebox: ['contract', 'accounts'],
  fastify: ['app', 'build-app', 'ops', 'http'],
  '@fastify/proxy-addr': ['http'],
  jose: ['accounts'],
  'fast-jwt': ['accounts'],
  'lru-cache': ['cache', 'accounts', 'limits', 'status'],
  uuid: ['cli', 'store'],
  commander: ['cli'],
  'csv-parse': ['leads'],
  pino: ['app', 'build-app', 'ops'],
  'prom-client': ['ops'],
  '@photostructure/sqlite': ['store/sqlite'],
  pg: ['store/postgres'],
  '@redis/client': ['limits/redis'],
} satisfies Record<string, readonly string[]>;

/** Parts without input and output. */
const WITHOUT_IO = ['contract', 'store', 'cache', 'leads', 'limits'];
const IO = /^node:(fs|net|http|https|http2|dgram|dns|tls|child_process|worker_threads|cluster|process|os)\b/;

const SERVER = 'packages/server/src/';
const CONTRACT = 'packages/contract/src/';
const ADAPTERS = ['store/sqlite', 'store/postgres'];
const INNER_PARTS = [...ADAPTERS, 'limits/open-limiters', 'limits/redis'];

/** `packages/server/src/http/query.ts` belongs to the part `http`, `packages/server/src/app.ts` to `app`. */
function partOf(path: string): string {
  if (path.startsWith(CONTRACT)) return 'contract';
  const inner = path.slice(SERVER.length).replace(/\.ts$/, '');
  const adapter = INNER_PARTS.find((part) => inner === part || inner.startsWith(`${part}/`));
  return adapter ?? inner.split('/')[0] ?? '';
}

const files = [...sourceFiles(SERVER), ...sourceFiles(CONTRACT)];

/** All imports of the files. `name` maps the target of an import; undefined omits it. */
function edges(name: (target: string) => string | undefined) {
  return files.flatMap((file) =>
    file.imports.flatMap((target) => {
      const to = name(target);
      return to === undefined ? [] : [{ file: file.path, from: partOf(file.path), to }];
    }),
  );
}

const ours = (target: string) => (target.startsWith('packages/') ? partOf(target) : undefined);
const packageName = (target: string) =>
  target.startsWith('packages/') || target.startsWith('node:')
    ? undefined
    : /^(?:@[^/]+\/)?[^/]+/.exec(target)?.[0];

const table = new Map<string, readonly string[]>(Object.entries(MAY_IMPORT));
const uses = new Map<string, readonly string[]>(Object.entries(MAY_USE));

describe('imports', () => {
  it('are found', () => {
    expect(files.length).toBeGreaterThan(50);
    const app = files.find(({ path }) => path === `${SERVER}build-app.ts`);
    expect(app?.imports).toContain(`${SERVER}http/fastify-plugins.ts`);
    expect(app?.imports).toContain('fastify');
  });

  it('are those of the parts in the table', () => {
    const parts = new Set(files.map(({ path }) => partOf(path)));
    expect([...parts].sort()).toEqual([...table.keys(), ...FOUNDATION, 'contract'].sort());
  });

  it('run one way: cli → app → http → cache → leads, accounts, limits → store', () => {
    const wrong = edges(ours).filter(
      ({ from, to }) => from !== to && !FOUNDATION.includes(to) && !table.get(from)?.includes(to),
    );
    expect(wrong).toEqual([]);
  });

  it('of an adapter are only in open-store.ts and index.ts', () => {
    const importers = edges(ours).filter(({ from, to }) => ADAPTERS.includes(to) && from !== to);
    expect([...new Set(importers.map(({ from }) => from))].sort()).toEqual(['index', 'open-store']);
  });

  it('of the Redis driver are lazy: it takes longer to load than all the rest', () => {
    const loading = /^(?:import|export)\b(?! type\b)[^;'"`]*'[^']*\/redis\/[^']*'/m;
    const eager = files.filter(({ path, text }) => partOf(path) !== 'limits/redis' && loading.test(text));
    expect(eager.map(({ path }) => path)).toEqual([]);
  });

  it('of index.ts do not load Fastify: applications with Express or node:http do not need it', () => {
    const loaded = loadedBy(`${SERVER}index.ts`);
    expect(loaded).toContain(`${SERVER}http/poll-handler.ts`);
    expect(loaded).not.toContain('fastify');
  });

  it('of a package are only in the parts that may use it', () => {
    const wrong = edges(packageName).filter(
      ({ from, to }) => to !== '@leadtap/contract' && !uses.get(to)?.includes(from),
    );
    expect(wrong).toEqual([]);
  });

  it('of files, sockets and processes are not in parts without input and output', () => {
    const wrong = edges((target) => (IO.test(target) ? target : undefined)).filter(({ from }) =>
      WITHOUT_IO.includes(from),
    );
    expect(wrong).toEqual([]);
  });

  it('of the contract are only typebox', () => {
    const contract = files.filter(({ path }) => partOf(path) === 'contract');
    const outside = contract.flatMap(({ imports }) => imports).filter((to) => !to.startsWith(CONTRACT));
    expect([...new Set(outside)]).toEqual(['typebox']);
  });

  it('have no cycles, also outside the server', () => {
    const everywhere = ['packages', 'integrations', 'tools', 'test'].flatMap((folder) => sourceFiles(folder));
    expect(everywhere.length).toBeGreaterThan(files.length);
    expect(filesInCycles(everywhere)).toEqual([]);
  });
});

/** The files that import themselves through others. */
function filesInCycles(all: readonly SourceFile[]): string[] {
  const byPath = new Map(all.map((file) => [file.path, file]));
  const reaches = (from: string, goal: string, seen: Set<string>): boolean =>
    (byPath.get(from)?.imports ?? []).some((next) => {
      if (next === goal) return true;
      if (seen.has(next)) return false;
      seen.add(next);
      return reaches(next, goal, seen);
    });
  return all.map(({ path }) => path).filter((path) => reaches(path, path, new Set()));
}

/** The modules that are loaded with a file, without imports of types. */
function loadedBy(entry: string): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const loaded = new Set([entry]);
  // Iteration over a set includes elements that are added meanwhile.
  for (const path of loaded) for (const target of byPath.get(path)?.runtimeImports ?? []) loaded.add(target);
  return [...loaded];
}
