import { describe, expect, it } from 'vitest';
import { type SourceFile, sourceFiles } from './source-files.ts';

/** The folders of packages/server/src, from the top. A file imports from its own folder, and from the floors below it. */
const FLOORS = [
  ['index'], // the public exports
  ['cli'],
  ['app', 'embed'],
  ['ops'],
  ['open-store'],
  ['status', 'import'],
  ['store'],
  ['hooks'],
  ['intake'],
  ['connections'],
  ['poll', 'find'],
  ['http'],
  ['leads'],
  ['accounts', 'limits', 'config'],
  ['sql'],
  ['lib'],
];

/** The only parts that use a package. All may use `@leadtap/contract`. */
const MAY_USE: Readonly<Record<string, readonly string[]>> = {
  jose: ['accounts'],
  'lru-cache': ['accounts', 'connections', 'hooks', 'limits', 'poll', 'status'],
  uuid: ['cli', 'store'],
  commander: ['cli'],
  'csv-parse': ['import'],
  pino: ['app', 'ops'],
  'prom-client': ['hooks', 'ops'],
  '@photostructure/sqlite': ['store/sqlite'],
  pg: ['store/postgres'],
  '@redis/client': ['limits/redis'],
};

const WITHOUT_IO = ['import', 'leads', 'limits'];
/** What a store does and stores, in every folder. */
const PORT = /^packages\/server\/src\/[^/]+\/(?:store|records?)\.ts$/;
const IO = /^node:(fs|net|http|https|http2|dgram|dns|tls|child_process|worker_threads|cluster|process|os)\b/;

const SERVER = 'packages/server/src/';
const CONTRACT = 'packages/contract/src/';

/** `packages/server/src/poll/hold.ts` is in `poll` and in `poll/hold`. */
const isIn = (path: string, part: string): boolean =>
  /^(?:\/|\.ts$)/.test(path.slice(SERVER.length + part.length)) && path.startsWith(SERVER + part);

/** `packages/server/src/poll/hold.ts` → `poll`, `packages/server/src/app.ts` → `app`. */
const folderOf = (path: string): string => /^[^/.]+/.exec(path.slice(SERVER.length))?.[0] ?? '';

const floorOf = (path: string): number => FLOORS.findIndex((folders) => folders.includes(folderOf(path)));

const files = sourceFiles(SERVER);
const imports = files.flatMap(({ path, imports: targets }) => targets.map((target) => ({ path, target })));

describe('imports', () => {
  it('are found', () => {
    expect(files.length).toBeGreaterThan(50);
    const app = files.find(({ path }) => path === `${SERVER}app.ts`);
    expect(app?.imports).toContain(`${SERVER}http/endpoint.ts`);
    expect(app?.imports).toContain('pino');
    expect([...new Set(files.map(({ path }) => folderOf(path)))].sort()).toEqual(FLOORS.flat().sort());
  });

  it('run down from floor to floor', () => {
    const wrong = imports.filter(
      ({ path, target }) =>
        target.startsWith(SERVER) && folderOf(path) !== folderOf(target) && floorOf(path) >= floorOf(target),
    );
    expect(wrong).toEqual([]);
  });

  it('of an adapter are only in open-store.ts and index.ts', () => {
    for (const adapter of ['store/sqlite', 'store/postgres']) {
      const importers = imports.filter(({ path, target }) => isIn(target, adapter) && !isIn(path, adapter));
      expect([...new Set(importers.map(({ path }) => folderOf(path)))].sort()).toEqual([
        'index',
        'open-store',
      ]);
    }
  });

  it('of the Redis driver are lazy: it takes longer to load than all the rest', () => {
    const loading = /^(?:import|export)\b(?! type\b)[^;'"`]*'[^']*\/redis\/[^']*'/m;
    const eager = files.filter(({ path, text }) => !isIn(path, 'limits/redis') && loading.test(text));
    expect(eager.map(({ path }) => path)).toEqual([]);
  });

  it('of a package are only in the parts that may use it', () => {
    const wrong = imports.filter(({ path, target }) => {
      const name = /^(?!packages\/|node:)(?:@[^/]+\/)?[^/]+/.exec(target)?.[0];
      return name && name !== '@leadtap/contract' && !MAY_USE[name]?.some((part) => isIn(path, part));
    });
    expect(wrong).toEqual([]);
  });

  it('of files, sockets and processes are not in folders and files without input and output', () => {
    const wrong = imports.filter(
      ({ path, target }) => IO.test(target) && (WITHOUT_IO.includes(folderOf(path)) || PORT.test(path)),
    );
    expect(wrong).toEqual([]);
  });

  it('of the contract are only typebox', () => {
    const outside = sourceFiles(CONTRACT).flatMap((file) =>
      file.imports.filter((to) => !to.startsWith(CONTRACT)),
    );
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
