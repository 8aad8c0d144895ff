import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import * as sources from '@leadtap/client';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { expect, it } from 'vitest';
import { sourceFiles } from '../../server/test/architecture/source-files.ts';
import { tempFolder } from '../../testing/harness/temp-folder.ts';

const PACKAGE = fileURLToPath(new URL('..', import.meta.url));

/** As it would be published, of the build that stands there. */
async function packed(): Promise<Uint8Array<ArrayBuffer>> {
  const folder = tempFolder();
  const flags = ['--json', '--ignore-scripts', '--pack-destination', folder];
  const { stdout } = await promisify(execFile)('npm', ['pack', ...flags], {
    cwd: PACKAGE,
    shell: process.platform === 'win32',
  });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  return new Uint8Array(readFileSync(join(folder, filename)));
}

it('passes the checks of those who have seen packages go wrong', async () => {
  const tarball = await packed();
  const { messages, pkg } = await publint({ pack: { tarball: tarball.buffer }, strict: true });
  expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  const types = await checkPackage(createPackageFromTarballData(tarball));
  expect(types).toMatchObject({ types: { kind: 'included' }, problems: [] });
});

it('depends on nothing', () => {
  const manifest = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'));
  expect(Object.keys(manifest).filter((key) => /dependencies/i.test(key))).toEqual([]);
});

it('needs nothing of Node.js but for its file', () => {
  const imports = sourceFiles('packages/client/src').flatMap((file) =>
    file.imports
      .filter((target) => !target.startsWith('packages/client/src/'))
      .map((target) => [file.path, target]),
  );
  expect(imports.length).toBeGreaterThan(0);
  for (const [path, target] of imports)
    expect(`${path} ${target}`).toMatch(/^packages\/client\/src\/file\.ts node:/);
});

it.each(['@leadtap/client', '@leadtap/client/file'])(
  'gives the same to import and to require: %s',
  async (name) => {
    const script = `import(${JSON.stringify(name)}).then((module) => console.log(Object.keys(module).sort().join()))`;
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], { cwd: PACKAGE });
    const required = createRequire(join(PACKAGE, 'test/any.js'))(name);
    expect(Object.keys(required).sort().join()).toBe(stdout.trim());
    if (name === '@leadtap/client') expect(Object.keys(sources).sort()).toEqual(Object.keys(required).sort());
  },
);
