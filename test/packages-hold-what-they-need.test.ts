import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PACKAGES = [
  'packages/contract',
  'packages/server',
  'packages/store-conformance',
  'integrations/zapier',
  'packages/client',
];
const NOT_COPIED = /[/\\](dist|node_modules|test)$|\.tsbuildinfo$/;

/** A copy of the sources, so that no other test loses the build that it runs. */
function copyOfTheWorkspace(): string {
  const folder = mkdtempSync(join(tmpdir(), 'leadtap-pack-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const filter = (path: string) => !NOT_COPIED.test(path);
  for (const path of ['package.json', 'tsconfig.base.json', '.npmrc', 'packages', 'integrations'])
    cpSync(join(ROOT, path), join(folder, path), { recursive: true, filter });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** The files that `npm run pack` packs, by package. */
async function pack(folder: string): Promise<Map<string, string[]>> {
  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'pack', '--', '--json'], {
    cwd: folder,
    shell: process.platform === 'win32',
  });
  const packed: { name: string; files: { path: string }[] }[] = JSON.parse(stdout.slice(stdout.indexOf('[')));
  return new Map(packed.map(({ name, files }) => [name, files.map(({ path }) => path)]));
}

test('a package has all that it needs and nothing of an earlier build', async () => {
  const folder = copyOfTheWorkspace();
  for (const name of PACKAGES) {
    const dist = join(folder, name, 'dist');
    mkdirSync(dist);
    writeFileSync(join(dist, 'gone-long-ago.js'), 'export {};\n');
  }
  const packed = await pack(folder);
  expect([...packed.keys()]).toEqual([
    '@leadtap/contract',
    'leadtap',
    '@leadtap/store-conformance',
    'zapier-leadtap',
    '@leadtap/client',
  ]);
  for (const files of packed.values()) {
    expect(files).toEqual(
      expect.arrayContaining(['LICENSE', 'README.md', 'dist/index.js', 'dist/index.d.ts']),
    );
    expect(files).not.toContain('dist/gone-long-ago.js');
    expect(files.filter((path) => /(^|\/)test\/|tsbuildinfo|tsconfig/.test(path))).toEqual([]);
  }
  expect(packed.get('@leadtap/contract')).toContain('openapi.json');
  expect(packed.get('@leadtap/client')).toEqual(
    expect.arrayContaining(['SPEC.md', 'cjs/package.json', 'cjs/dist/index.js', 'cjs/dist/file.d.ts']),
  );
  const migrations = await readdir(join(ROOT, 'packages/server/src/store/sqlite/migrations'));
  expect(packed.get('leadtap')).toEqual(
    expect.arrayContaining([
      'bin/leadtap.js',
      'assets/docs.html',
      'dist/console/index.html',
      'dist/console/index.html.br',
      expect.stringMatching(/^dist\/console\/console\/index-[\w-]+\.js\.gz$/),
      expect.stringMatching(/^dist\/console\/console\/index-[\w-]+\.css\.br$/),
      ...migrations.map((name) => `src/store/sqlite/migrations/${name}`),
    ]),
  );
});
