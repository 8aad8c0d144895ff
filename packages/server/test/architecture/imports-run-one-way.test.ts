import { describe, expect, it } from 'vitest';
import { type SourceFile, sourceFiles } from './source-files.ts';

/** Every part of packages/server/src, and the parts that it may import. */
const MAY_IMPORT = {
  // Of the limits only to see whether Redis is there.
  cli: ['compose', 'open-store', 'config', 'ops', 'leads', 'accounts', 'limits/redis', 'store'],
  compose: ['app', 'open-store', 'limits/open-limiters', 'config', 'ops', 'accounts', 'store'],
  'open-store': ['config', 'store', 'store/sqlite', 'store/postgres'],
  app: ['http', 'ops', 'accounts', 'limits', 'store'],
  ops: ['http', 'store'],
  http: ['cache', 'leads', 'accounts', 'limits', 'store'],
  cache: ['leads', 'store'],
  leads: ['store'],
  accounts: ['store'],
  limits: [],
  'limits/open-limiters': ['limits', 'limits/redis'],
  'limits/redis': ['limits'],
  store: [],
  'store/sqlite': ['store'],
  'store/postgres': ['store'],
  // The types of what it makes for them.
  config: ['accounts', 'ops'],
  // The public surface.
  index: ['http', 'accounts', 'limits', 'store', 'store/sqlite', 'store/postgres'],
} satisfies Record<string, readonly string[]>;

/** They import no other part, and every part may import them. */
const FOUNDATION = ['clock', 'version', 'system-error', 'nearest-name', 'migration-files'];

/** Who may use a package. `@leadtap/contract` is for all. */
const MAY_USE = {
  typebox: ['contract', 'accounts'],
  fastify: ['compose', 'app', 'ops', 'http'],
  '@fastify/proxy-addr': ['http'],
  jose: ['accounts'],
  'fast-jwt': ['accounts'],
  'lru-cache': ['cache', 'accounts'],
  uuid: ['cli', 'http', 'store/sqlite', 'store/postgres'],
  commander: ['cli'],
  'csv-parse': ['leads'],
  pino: ['compose', 'app', 'ops'],
  'prom-client': ['ops'],
  '@photostructure/sqlite': ['store/sqlite'],
  pg: ['store/postgres'],
  '@redis/client': ['limits/redis'],
} satisfies Record<string, readonly string[]>;

/** They decide, and leave it to others to read and send. */
const WITHOUT_IO = ['contract', 'store', 'cache', 'leads', 'limits'];
const IO = /^node:(fs|net|http|https|http2|dgram|dns|tls|child_process|worker_threads|cluster|process|os)\b/;

const SERVER = 'packages/server/src/';
const CONTRACT = 'packages/contract/src/';
const ADAPTERS = ['store/sqlite', 'store/postgres'];
const INNER_PARTS = [...ADAPTERS, 'limits/open-limiters', 'limits/redis'];

/** `packages/server/src/http/query.ts` is of the part `http`, `packages/server/src/app.ts` is `app`. */
function partOf(path: string): string {
  if (path.startsWith(CONTRACT)) return 'contract';
  const inner = path.slice(SERVER.length).replace(/\.ts$/, '');
  const adapter = INNER_PARTS.find((part) => inner === part || inner.startsWith(`${part}/`));
  return adapter ?? inner.split('/')[0] ?? '';
}

const files = [...sourceFiles(SERVER), ...sourceFiles(CONTRACT)];

/** All imports as `from file → target`, where `target` is told by `name`; undefined leaves one out. */
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
  it('are really read', () => {
    expect(files.length).toBeGreaterThan(50);
    const app = files.find(({ path }) => path === `${SERVER}app.ts`);
    expect(app?.imports).toContain(`${SERVER}http/new-leads.ts`);
    expect(app?.imports).toContain('fastify');
  });

  it('name parts that the table knows', () => {
    const parts = new Set(files.map(({ path }) => partOf(path)));
    expect([...parts].sort()).toEqual([...table.keys(), ...FOUNDATION, 'contract'].sort());
  });

  it('run one way: cli → compose → app → http → cache → leads, accounts, limits → store', () => {
    const wrong = edges(ours).filter(
      ({ from, to }) => from !== to && !FOUNDATION.includes(to) && !table.get(from)?.includes(to),
    );
    expect(wrong).toEqual([]);
  });

  it('reach an adapter only from the place that chooses it and from the public surface', () => {
    const importers = edges(ours).filter(({ from, to }) => ADAPTERS.includes(to) && from !== to);
    expect([...new Set(importers.map(({ from }) => from))].sort()).toEqual(['index', 'open-store']);
  });

  it('load the driver of Redis only where it is used: it takes longer than all the rest of a start', () => {
    const loading = /^(?:import|export)\b(?! type\b)[^;'"`]*'[^']*\/redis\/[^']*'/m;
    const eager = files.filter(({ path, text }) => partOf(path) !== 'limits/redis' && loading.test(text));
    expect(eager.map(({ path }) => path)).toEqual([]);
  });

  it('load Fastify only for the standalone server: Express and bare Node have no use for it', () => {
    const loaded = loadedBy(`${SERVER}index.ts`);
    expect(loaded).toContain(`${SERVER}http/poll-handler.ts`);
    expect(loaded).not.toContain('fastify');
  });

  it('use a package only where its work is done', () => {
    const wrong = edges(packageName).filter(
      ({ from, to }) => to !== '@leadtap/contract' && !uses.get(to)?.includes(from),
    );
    expect(wrong).toEqual([]);
  });

  it('bring no files, sockets or processes to the parts that only decide', () => {
    const wrong = edges((target) => (IO.test(target) ? target : undefined)).filter(({ from }) =>
      WITHOUT_IO.includes(from),
    );
    expect(wrong).toEqual([]);
  });

  it('make the contract stand alone', () => {
    const contract = files.filter(({ path }) => partOf(path) === 'contract');
    const outside = contract.flatMap(({ imports }) => imports).filter((to) => !to.startsWith(CONTRACT));
    expect([...new Set(outside)]).toEqual(['typebox']);
  });

  it('never go in a circle', () => {
    expect(circles(files)).toEqual([]);
  });
});

/** Files that import themselves by way of others, each circle once for every file in it. */
function circles(all: readonly SourceFile[]): string[] {
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

/** The modules that run when a file is imported: its own imports and theirs, but not those of types. */
function loadedBy(entry: string): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const loaded = new Set([entry]);
  // A set gives what is added while it is read.
  for (const path of loaded) for (const target of byPath.get(path)?.runtimeImports ?? []) loaded.add(target);
  return [...loaded];
}
