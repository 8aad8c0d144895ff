// @nightly and after a change of package.json package-lock.json packages/contract/package.json packages/client/package.json packages/server/package.json packages/server/bin/ integrations/zapier/package.json
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openPage } from '../../packages/testing/browser/page.ts';
import { spawnProgram } from '../../packages/testing/harness/leadtap-process.ts';
import { tempFolder } from '../../packages/testing/harness/temp-folder.ts';
import { InstalledProgram } from './support/installed-program.ts';
import { PROGRAM_CHECKS } from './support/program-checks.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PACKAGES = ['packages/contract', 'packages/server', 'integrations/zapier', 'packages/client'];
const INSTALLED = ['leadtap', '@leadtap/contract', '@leadtap/client'];
/** Not the PATH of the tests, which contains another `leadtap`. */
const PATH = `${dirname(process.execPath)}:/usr/bin:/bin`;

interface Packed {
  readonly name: string;
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

let packed: readonly Packed[];
/** The folder of a person who has installed the packages, and nothing else. */
let installed: string;

const fileNamed = (name: string): string => {
  const found = packed.find((each) => each.name === name);
  if (!found) throw new Error(`${name} is not packed`);
  return found.filename;
};

async function npm(cwd: string, ...argv: string[]): Promise<string> {
  const { stdout } = await run('npm', argv, { cwd, shell: process.platform === 'win32' });
  return stdout;
}

// Packs the packages that the tests run with, and installs them with their dependencies, from npm's cache if possible.
beforeAll(async () => {
  const archives = tempFolder(afterAll);
  const folders = PACKAGES.map((path) => `./${path}`);
  const output = await npm(
    ROOT,
    'pack',
    '--ignore-scripts',
    '--json',
    '--pack-destination',
    archives,
    ...folders,
  );
  packed = JSON.parse(output);

  const parent = tempFolder(afterAll);
  chmodSync(parent, 0o755);
  installed = join(parent, 'my programs');
  mkdirSync(installed);
  writeFileSync(join(installed, 'package.json'), '{ "name": "another-package", "type": "commonjs" }');
  const tarballs = INSTALLED.map((name) => join(archives, fileNamed(name)));
  const flags = ['--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund'];
  await npm(installed, 'install', ...flags, ...tarballs, '@types/node@22');
});

const filesOf = (name: string): string[] =>
  packed.filter((each) => each.name === name).flatMap(({ files }) => files.map(({ path }) => path));

const folderOf = (name: string): string => join(installed, 'node_modules', name);

/** What the code and the declarations of a package import by name. */
function importsOf(name: string): string[] {
  const dist = join(folderOf(name), 'dist');
  const code = readdirSync(dist, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(js|d\.ts)$/.test(file) && !file.startsWith('console'))
    .map((file) => readFileSync(join(dist, file), 'utf8').replace(/\/\*[\s\S]*?\*\//g, ''));
  const names = [...code.join('\n').matchAll(/(?:from |import\()'([^'.][^']*)'/g)].map(
    ([, found = '']) => found,
  );
  return [...new Set(names)].filter((found) => !found.startsWith('node:'));
}

/** `@leadtap/contract/schemas` is a part of `@leadtap/contract`. */
const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

describe('a package', () => {
  test('has all that it needs, and nothing else', () => {
    expect(packed.map(({ name }) => name)).toEqual([
      '@leadtap/contract',
      'leadtap',
      'zapier-leadtap',
      '@leadtap/client',
    ]);
    for (const { name } of packed) {
      const files = filesOf(name);
      expect(files).toEqual(
        expect.arrayContaining(['LICENSE', 'README.md', 'dist/index.js', 'dist/index.d.ts']),
      );
      expect(files.filter((path) => /(^|\/)test\/|tsbuildinfo|tsconfig/.test(path))).toEqual([]);
    }
    expect(filesOf('@leadtap/contract')).toContain('openapi.json');
    expect(filesOf('@leadtap/client')).toEqual(
      expect.arrayContaining(['SPEC.md', 'cjs/package.json', 'cjs/dist/index.js', 'cjs/dist/file.d.ts']),
    );
  });

  test.each(INSTALLED)('depends on all that it imports: %s', (name) => {
    const { dependencies = {} } = JSON.parse(readFileSync(join(folderOf(name), 'package.json'), 'utf8'));
    expect(Object.keys(dependencies)).toEqual(expect.arrayContaining(importsOf(name).map(packageOf)));
  });

  test('has types for import and require, and brings the types that they need', async () => {
    const parts = ['@leadtap/client/file', '@leadtap/contract/schemas', '@leadtap/contract/openapi'];
    const exportAll = (name: string, index: number) => `export * as part${index} from '${name}';\n`;
    writeFileSync(join(installed, 'imports.mts'), [...INSTALLED, ...parts].map(exportAll).join(''));
    const required = ['@leadtap/client', '@leadtap/client/file'];
    writeFileSync(join(installed, 'requires.cts'), required.map(exportAll).join(''));
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
    // The check of all declarations would take ten times as long. The trace has the modules that they do not find.
    const options =
      '--noEmit --strict --module nodenext --target es2022 --types node --skipLibCheck --traceResolution';
    const argv = [compiler, ...options.split(' '), 'imports.mts', 'requires.cts'];
    const { stdout } = await run(process.execPath, argv, {
      cwd: installed,
      maxBuffer: Number.POSITIVE_INFINITY,
    });
    const missing = [...stdout.matchAll(/Module name '([^']+)' was not resolved/g)].map(
      ([, name = '']) => name,
    );
    expect(missing.filter((name) => !name.startsWith('node:') && !isBuiltin(name))).toEqual([]);
  });
});

/** A program of that person. */
const runScript = (script: string, env: Record<string, string> = {}, ...flags: string[]) =>
  run(process.execPath, [...flags, '-e', script], { cwd: installed, env: { PATH, ...env } });

describe('the package leadtap', () => {
  const installedProgram = () =>
    new InstalledProgram({
      command: ['leadtap'],
      env: {
        PATH: `${join(installed, 'node_modules/.bin')}:${PATH}`,
        NODE_OPTIONS: '--enable-source-maps --unhandled-rejections=strict',
      },
    });

  test.each(PROGRAM_CHECKS)('%s', (_, check) => check(installedProgram()));

  test('runs the demo with npx, whose leads the client gets with import and require, until Ctrl+C', async () => {
    const folder = tempFolder();
    const { child, lines, ended } = spawnProgram(['npx', 'leadtap', 'demo', '--port', '0'], {
      cwd: installed,
      env: { PATH, HOME: folder, TMPDIR: folder, npm_config_update_notifier: 'false' },
      detached: true,
    });
    // As a terminal does. Below npx is a process of its own.
    const signalGroup = (signal: NodeJS.Signals) =>
      run('kill', ['-s', signal.slice(3), '--', `-${child.pid}`]);
    onTestFinished(() => signalGroup('SIGKILL').then(undefined, () => undefined));
    let text = '';
    for (let line = await lines.next(); !line.done; line = await lines.next()) {
      text += `${line.value}\n`;
      if (line.value.includes('/#token=')) break;
    }
    expect(text).toContain('`npx leadtap demo --json`');
    const address = text.trim().split('\n').at(-1) ?? '';
    const page = await openPage(address);
    await page.getByRole('navigation').getByRole('link', { name: 'Leads' }).click();
    await expect.poll(() => page.locator('.lead-row').count()).toBeGreaterThan(20);
    const [baseUrl, token] = address.split('/#token=');
    const OPTIONS = JSON.stringify({ baseUrl, token, since: '2020-01-01T00:00:00Z' });
    const printFirst = `async ({ newLeads }) => {
      for await (const lead of newLeads(JSON.parse(process.env.OPTIONS))) return console.log(lead.createdAt);
    }`;
    for (const loaded of ["import('@leadtap/client')", "Promise.resolve(require('@leadtap/client'))"]) {
      const { stdout } = await runScript(`${loaded}.then(${printFirst})`, { OPTIONS });
      expect(stdout).toMatch(/^\d{4}-\d{2}-\d{2}T.+Z\n$/);
    }
    await signalGroup('SIGINT');
    await ended;
    expect(readdirSync(folder)).toEqual(['.npm']);
  });

  test('starts where it cannot write, and says so', async () => {
    const program = installedProgram();
    chmodSync(program.folder, 0o555);
    const { code, stderr } = await program.run(['serve', '--port', '0'], { LEADTAP_METRICS_ADDRESS: 'off' });
    expect(code).toBe(1);
    expect(stderr).toContain(`Allow this user to write to ${program.folder}`);
  });
});

test('n8n loads the node that the console offers', async () => {
  const files = join(installed, 'node_modules/leadtap/dist/console/console');
  const name = readdirSync(files).find((each) => /^n8n-nodes-leadtap-.*\.tgz$/.test(each)) ?? '';
  const folder = tempFolder();
  await run('tar', ['-xzf', join(files, name), '-C', folder]);
  const { n8n } = JSON.parse(readFileSync(join(folder, 'package/package.json'), 'utf8'));
  const script = `
    const made = process.argv.slice(1).map((file) => {
      const [Class] = Object.values(require(file));
      return new Class();
    });
    console.log(made.map(({ name, description }) => name ?? description.name).join());`;
  const paths = [...n8n.credentials, ...n8n.nodes].map((file: string) => join(folder, 'package', file));
  const { stdout } = await run(process.execPath, ['-e', script, ...paths], {
    cwd: folder,
    // n8n itself brings this library.
    env: { PATH, NODE_PATH: join(ROOT, 'node_modules') },
  });
  expect(stdout).toBe('leadtapApi,leadtapTrigger,leadtapInstantTrigger\n');
});
