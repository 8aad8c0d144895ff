/** `npm version` changes the `package.json` of the root, and `npm run generate` every other file that names the version. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, textFiles } from '../packages/server/test/architecture/source-files.ts';
import {
  lockText,
  manifestText,
  type Project,
  packageFolders,
  TEXTS_WITH_VERSION,
  textWithVersion,
} from '../tools/generate/versions.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const project: Project = JSON.parse(read('package.json'));
const NEXT = '97.98.99';
const next = { ...project, version: NEXT };

test.each(packageFolders(project))(
  '%s gets the next version, and needs packages of that version',
  (folder) => {
    const {
      name,
      version,
      dependencies = {},
      devDependencies = {},
    } = JSON.parse(manifestText(read(`${folder}/package.json`), folder, next));
    expect([name, version]).toEqual([expect.stringContaining('leadtap'), NEXT]);
    const own = Object.entries<string>({ ...dependencies, ...devDependencies }).filter(([name]) =>
      /^(@leadtap\/.+|leadtap)$/.test(name),
    );
    for (const [, range] of own) expect(range).toMatch(/^(97\.98\.99|file:.+)$/);
  },
);

test('so do the workspaces in package-lock.json, and no other package', () => {
  const before = JSON.parse(read('package-lock.json'));
  const after = JSON.parse(lockText(read('package-lock.json'), next));
  const changed = Object.keys(after.packages).filter(
    (path) => after.packages[path].version !== before.packages[path].version,
  );
  expect(changed.sort()).toEqual(['', ...project.workspaces].sort());
  expect(after.packages['packages/server'].dependencies['@leadtap/contract']).toBe(NEXT);
  expect(after.version).toBe(NEXT);
});

test.each(TEXTS_WITH_VERSION)('%s has the next version and not the current one', (path) => {
  const text = textWithVersion(read(path), next);
  expect(text).toContain(NEXT);
  expect(text).not.toContain(project.version);
});

test('no other file names a packed file or an image of a version', () => {
  const others = textFiles('.').filter(
    ({ path }) =>
      /^(docs|deploy|examples|integrations|packages)\/|\.(md|yaml)$/.test(path) &&
      ![...TEXTS_WITH_VERSION, 'CHANGELOG.md'].includes(path),
  );
  const found = others.filter(({ text }) => /leadtap[\w-]*(-|:)\d+\.\d+\.\d+/.test(text));
  expect(found.map(({ path }) => path)).toEqual([]);
});

test('every package names the repository of the root, and its own folder in it', () => {
  const repository = 'https://github.com/ada/leadtap';
  const manifest = manifestText(read('packages/client/package.json'), 'packages/client', {
    ...project,
    repository,
  });
  expect(JSON.parse(manifest).repository).toEqual({
    type: 'git',
    url: 'git+https://github.com/ada/leadtap.git',
    directory: 'packages/client',
  });
});
