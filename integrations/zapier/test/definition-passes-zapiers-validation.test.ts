import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import app from '../src/index.ts';

interface Validation {
  readonly results: readonly { readonly property: string; readonly message: string }[];
}
type AppHandler = (event: { readonly command: 'validate' }) => Promise<Validation>;

/** The types of the package leave it out; the command line program calls just this. */
const { createAppHandler }: { createAppHandler(definition: object): AppHandler } = createRequire(
  import.meta.url,
)('zapier-platform-core');

const validate = async (definition: object) =>
  (await createAppHandler(definition)({ command: 'validate' })).results;

const packageFile = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

describe('the definition of the app', () => {
  it('has no errors, as `zapier-platform validate --without-style` looks for them', async () => {
    expect(await validate(app)).toEqual([]);
  });

  it('would have some if a part were missing', async () => {
    const { test: _test, ...authentication } = app.authentication ?? {};
    expect(await validate({ ...app, authentication })).not.toEqual([]);
  });

  // Zapier's command packs all files of the folder into source.zip, except those that this file names.
  it('has a .gitignore that keeps installed and built files out of source.zip', () => {
    const ignored = readFileSync(new URL('../.gitignore', import.meta.url), 'utf8').split('\n');
    expect(ignored).toEqual(expect.arrayContaining(['node_modules/', 'dist/', 'build/', '*.tsbuildinfo']));
  });

  it('has the version of the package and that of the platform that the package pins', () => {
    expect(app.version).toBe(packageFile.version);
    expect(app.platformVersion).toBe(packageFile.dependencies['zapier-platform-core']);
  });
});
