import { describe, expect, it } from 'vitest';
import { type SourceFile, sourceFiles } from './source-files.ts';

/** What every slice may import: what all of them share, and no other slice. */
const SHARED = ['ports', 'leads', 'accounts', 'limits', 'http', 'store'];

/**
 * Every part of packages/server/src, and the parts that it may import. A folder is a part, with two exceptions: the commands of
 * all slices belong to `cli`, and the records and store interfaces of all slices are `ports`, because the stores implement them.
 */
const MAY_IMPORT = {
  cli: [
    ...SHARED,
    'app',
    'config',
    'consumers',
    'hooks',
    'import',
    'intake',
    'limits/redis',
    'open-store',
    'ops',
    'status',
  ],
  app: [
    ...SHARED,
    'config',
    'consumers',
    'find',
    'hooks',
    'intake',
    'limits/open-limiters',
    'open-store',
    'ops',
    'poll',
    'status',
  ],
  embed: [...SHARED, 'intake', 'poll'],
  'open-store': ['config', 'ports', 'store', 'store/sqlite', 'store/postgres'],
  ops: [...SHARED, 'intake', 'poll', 'status'],
  poll: [...SHARED],
  find: [...SHARED],
  intake: [...SHARED],
  import: [...SHARED],
  hooks: [...SHARED],
  consumers: [...SHARED],
  status: [...SHARED, 'consumers'],
  http: ['ports', 'leads', 'accounts', 'limits', 'store'],
  limits: [],
  'limits/open-limiters': ['limits', 'limits/redis'],
  'limits/redis': ['limits'],
  // Beside the ports: the parts of slices that know SQL, or rules that a transaction checks.
  store: ['ports', 'accounts', 'consumers', 'hooks', 'leads'],
  'store/sqlite': ['ports', 'accounts', 'consumers', 'hooks', 'intake', 'leads', 'store'],
  'store/postgres': ['ports', 'accounts', 'consumers', 'hooks', 'intake', 'leads', 'store'],
  leads: ['ports'],
  accounts: ['ports', 'leads'],
  ports: ['leads'],
  config: [],
  // The public surface.
  index: [...SHARED, 'consumers', 'embed', 'hooks', 'intake', 'poll', 'store/sqlite', 'store/postgres'],
} satisfies Record<string, readonly string[]>;

/** They import no other part; every part may import them. */
const FOUNDATION = ['lib', 'sql'];

/** The parts that may use a package. All may use `@leadtap/contract`. */
const MAY_USE = {
  typebox: ['contract', 'accounts'],
  jose: ['accounts'],
  'fast-jwt': ['accounts'],
  'lru-cache': ['accounts', 'hooks', 'limits', 'poll', 'status'],
  uuid: ['cli', 'store'],
  commander: ['cli'],
  'csv-parse': ['import'],
  pino: ['app', 'ops'],
  'prom-client': ['hooks', 'ops'],
  '@photostructure/sqlite': ['store/sqlite'],
  pg: ['store/postgres'],
  '@redis/client': ['limits/redis'],
} satisfies Record<string, readonly string[]>;

/** Parts without input and output. */
const WITHOUT_IO = ['contract', 'ports', 'import', 'leads', 'limits'];
const IO = /^node:(fs|net|http|https|http2|dgram|dns|tls|child_process|worker_threads|cluster|process|os)\b/;

const SERVER = 'packages/server/src/';
const CONTRACT = 'packages/contract/src/';
const ADAPTERS = ['store/sqlite', 'store/postgres'];
const INNER_PARTS = [...ADAPTERS, 'limits/open-limiters', 'limits/redis'];

/** What the stores implement, and what they store. */
const PORT = /^(?:accounts|leads|poll|intake|consumers|hooks)\/(?:store|records?)$/;

/** `packages/server/src/poll/query.ts` belongs to the part `poll`, `packages/server/src/app.ts` to `app`. */
function partOf(path: string): string {
  if (path.startsWith(CONTRACT)) return 'contract';
  const inner = path.slice(SERVER.length).replace(/\.ts$/, '');
  const adapter = INNER_PARTS.find((part) => inner === part || inner.startsWith(`${part}/`));
  if (/\/commands?(?:\/|$)/.test(inner)) return 'cli';
  if (PORT.test(inner)) return 'ports';
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
    const app = files.find(({ path }) => path === `${SERVER}app.ts`);
    expect(app?.imports).toContain(`${SERVER}http/endpoint.ts`);
    expect(app?.imports).toContain('pino');
  });

  it('are those of the parts in the table', () => {
    const parts = new Set(files.map(({ path }) => partOf(path)));
    expect([...parts].sort()).toEqual([...table.keys(), ...FOUNDATION, 'contract'].sort());
  });

  it('run one way: cli → app → slices → http → leads, accounts, limits → ports', () => {
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
