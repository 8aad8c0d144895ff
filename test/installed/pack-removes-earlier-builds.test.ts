// @nightly and after a change of package.json package-lock.json packages/contract/package.json packages/client/package.json packages/server/package.json integrations/zapier/package.json
/** `npm run pack`, with stubs for the compilers. */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { tempFolder } from '../../packages/testing/harness/temp-folder.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const { workspaces }: { workspaces: string[] } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

interface Packed {
  readonly name: string;
  readonly files: readonly { readonly path: string }[];
}

test('npm run pack packs a new build, and nothing of an earlier one', async () => {
  const folder = tempFolder();
  const write = (path: string, text: string, mode = 0o644) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text, { mode });
  };
  for (const path of ['.', ...workspaces]
    .map((path) => join(path, 'package.json'))
    .concat('tools/prepack.mjs'))
    cpSync(join(ROOT, path), join(folder, path));
  for (const path of [...workspaces, 'packages/client/cjs']) {
    write(`${path}/dist/gone-long-ago.js`, '');
    write(`${path}/dist/index.js`, '');
    // With it, the compiler would write nothing.
    write(`${path}/tsconfig.tsbuildinfo`, '');
  }
  // A program that runs meanwhile uses the earlier build.
  const compile = 'test ! -e tsconfig.tsbuildinfo && test -e dist/index.js && touch dist/index.js';
  write('node_modules/.bin/tsc', `#!/bin/sh\n${compile}\n`, 0o755);
  write(
    'node_modules/.bin/vite',
    '#!/bin/sh\nmkdir -p dist/console && touch dist/console/index.html\n',
    0o755,
  );

  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'pack', '--', '--json'], {
    cwd: folder,
  });
  const packed: readonly Packed[] = JSON.parse(stdout.slice(stdout.indexOf('[')));
  const built = packed.map(({ name, files }) => [
    name,
    ...files.map(({ path }) => path).filter((path) => path.includes('dist/')),
  ]);
  expect(built).toEqual([
    ['@leadtap/contract', 'dist/index.js'],
    ['leadtap', 'dist/console/index.html', 'dist/index.js'],
    ['zapier-leadtap', 'dist/index.js'],
    ['@leadtap/client', 'dist/index.js'],
  ]);
});
