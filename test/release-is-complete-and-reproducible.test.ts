// @nightly and after a change of tools/release/ tools/executable/ deploy/container/ .github/workflows/release.yml package.json package-lock.json packages/contract/package.json packages/client/package.json packages/server/package.json
/** `npm run release -- --dry-run` in a copy of the work tree, which is a repository of its own. */
import { type ExecFileException, execFile, execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { tempFolder } from '../packages/testing/harness/temp-folder.ts';
import { PUBLISHED } from '../tools/release/build.ts';
import { hasUnreleasedChanges, releaseNotes } from '../tools/release/changelog.ts';
import {
  checkChangelog,
  checkPackage,
  checkRepository,
  checkRuntimePackages,
  checkTag,
} from '../tools/release/checks.ts';
import { isInContext } from './deployment/support/dockerignore.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const { version, repository }: { version: string; repository?: string } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
);

const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');
const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args], {
    cwd,
    encoding: 'utf8',
  });
const FILES = lines(git(ROOT, 'ls-files', '--cached', '--others', '--exclude-standard'));

interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Otherwise the archives that the console of the work tree offers have other modes than those of a release. */
const isReadableByAll = (statSync(join(ROOT, 'package.json')).mode & 0o444) === 0o444;

/** With a strict umask, which must not become the modes of packed files. */
const release = (cwd: string, ...args: string[]): Promise<Output> =>
  new Promise((done) => {
    const command = [process.execPath, join(ROOT, 'tools/release/dist/run.js'), ...args];
    execFile(
      'sh',
      ['-c', 'umask 077 && exec "$@"', 'sh', ...command],
      { cwd },
      (error: ExecFileException | null, stdout, stderr) =>
        done({ code: Number(error?.code ?? 0), stdout, stderr }),
    );
  });

/** Makes a folder with an empty or a full `node_modules` a repository. */
function commitAll(folder: string): void {
  git(folder, 'init', '--quiet');
  writeFileSync(join(folder, '.git/info/exclude'), 'node_modules\n');
  git(folder, 'add', '--all');
  git(folder, 'commit', '--quiet', '--message', 'Copy');
}

describe('a release of the work tree', () => {
  const cleanUps: (() => void | Promise<void>)[] = [];
  let copy: string;
  let output: Output;
  const released = (name: string): string => join(copy, 'release', name);

  beforeAll(async () => {
    copy = tempFolder((cleanUp) => void cleanUps.push(cleanUp));
    for (const path of FILES) cpSync(join(ROOT, path), join(copy, path));
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
    commitAll(copy);
    output = await release(copy, '--dry-run');
  });
  afterAll(async () => {
    for (const cleanUp of cleanUps) await cleanUp();
  });

  test('passes', () => {
    expect(output.stderr.replace(/^(npm warn|Building).*\n/gm, '')).toBe('');
    expect(output.code).toBe(0);
  });

  // The build of another folder is the one that the tests run with.
  test.each(PUBLISHED)('has %s as it is built in another folder', (path) => {
    const { name }: { name: string } = JSON.parse(readFileSync(join(ROOT, path, 'package.json'), 'utf8'));
    const unpacked = tempFolder();
    const archive = released(`${name.replace('@', '').replace('/', '-')}-${version}.tgz`);
    execFileSync('tar', ['-xzf', archive, '-C', unpacked, '--strip-components=1']);
    const files = readdirSync(unpacked, { recursive: true, encoding: 'utf8' }).filter((file) =>
      statSync(join(unpacked, file)).isFile(),
    );
    expect(files).toContain('package.json');
    const different = files.filter(
      (file) => !readFileSync(join(unpacked, file)).equals(readFileSync(join(ROOT, path, file))),
    );
    expect(different.filter((file) => isReadableByAll || !file.startsWith('dist/console'))).toEqual([]);
  });

  test('has every package, the build context, the SBOM, the notes, and their checksums', () => {
    expect(readdirSync(join(copy, 'release')).sort()).toEqual(
      [
        'RELEASE_NOTES.md',
        'SHA256SUMS',
        `leadtap-${version}-container.tar`,
        `leadtap-${version}.cdx.json`,
        `leadtap-${version}.tgz`,
        `leadtap-client-${version}.tgz`,
        `leadtap-contract-${version}.tgz`,
        `n8n-nodes-leadtap-${version}.tgz`,
      ].sort(),
    );
    expect(
      execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: released('.'), encoding: 'utf8' }),
    ).toMatch(/^(.+: OK\n){7}$/);
  });

  test('has packages whose files everyone may read', () => {
    const archives = readdirSync(released('.')).filter((name) => name.endsWith('.tgz'));
    const modes = archives.flatMap((name) =>
      lines(execFileSync('tar', ['-tvzf', released(name)], { encoding: 'utf8' })).map((line) =>
        line.slice(0, 10),
      ),
    );
    expect(new Set(modes)).toEqual(new Set(['-rw-r--r--', '-rwxr-xr-x']));
  });

  test('has the build context that .dockerignore describes', () => {
    const packed = lines(
      execFileSync('tar', ['-tf', released(`leadtap-${version}-container.tar`)], { encoding: 'utf8' }),
    );
    expect(packed.filter((path) => !path.endsWith('/')).sort()).toEqual(
      FILES.filter((path) => isInContext(path) || /^(Dockerfile|\.dockerignore)$/.test(path)).sort(),
    );
  });

  test('has the section of the changelog as its notes', () => {
    const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
    expect(readFileSync(released('RELEASE_NOTES.md'), 'utf8')).toBe(
      `${releaseNotes(changelog, version, repository)}\n`,
    );
  });

  test('has every runtime dependency of leadtap in the SBOM, each with a licence', () => {
    interface Bom {
      components: { name: string; version: string; licenses?: unknown[]; purl: string }[];
      dependencies: { ref: string; dependsOn: string[] }[];
    }
    const bom: Bom = JSON.parse(readFileSync(released(`leadtap-${version}.cdx.json`), 'utf8'));
    const listed = bom.components.map(({ name, version }) => `${name}@${version}`);
    expect(new Set(listed)).toEqual(new Set(runtimeDependencies()));
    expect(listed).toHaveLength(new Set(listed).size);
    expect(listed).toEqual(expect.arrayContaining([expect.stringMatching(/^@photostructure\/sqlite@/)]));
    expect(bom.components.filter(({ licenses }) => licenses?.length !== 1)).toEqual([]);
    const refs = new Set(bom.dependencies.map(({ ref }) => ref));
    expect(bom.dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !refs.has(ref))).toEqual(
      [],
    );
  });

  test('is refused while something is not committed, which is named', async () => {
    writeFileSync(join(copy, 'forgotten.txt'), '');
    const { code, stderr } = await release(copy, '--dry-run');
    rmSync(join(copy, 'forgotten.txt'));
    expect(code).toBe(1);
    expect(stderr).toMatch(/Commit or discard these changes first:\n.*forgotten\.txt/);
  });
});

/** As npm lists them. */
function runtimeDependencies(): string[] {
  interface Tree {
    readonly version?: string;
    readonly dependencies?: Readonly<Record<string, Tree>>;
  }
  const args = ['ls', '--all', '--omit', 'dev', '--json', '--package-lock-only', '--workspace', 'leadtap'];
  const root: Tree = JSON.parse(execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8' }));
  const walk = ({ dependencies = {} }: Tree): string[] =>
    Object.entries(dependencies).flatMap(([name, tree]) => [
      ...(tree.version === undefined ? [] : [`${name}@${tree.version}`]),
      ...walk(tree),
    ]);
  return walk(root.dependencies?.['leadtap'] ?? {});
}

describe('with --check-reproducible', () => {
  /** A repository whose `tsc` writes the output of a command into a package. npm is a stub, too. */
  function repositoryWhoseBuildPrints(command: string): string {
    const folder = tempFolder();
    const server = { name: 'leadtap', version: '1.2.3', license: 'MIT' };
    const files: Record<string, string> = {
      'package.json': '{ "version": "1.2.3" }',
      'package-lock.json': JSON.stringify({ packages: { 'packages/server': server } }),
      'CHANGELOG.md': '## [1.2.3] - 2026-01-02\n\n- New\n',
      'packages/server/package.json': JSON.stringify(server),
      '.dockerignore': '',
      Dockerfile: '',
      'node_modules/.bin/tsc': `#!/bin/sh
        mkdir -p tools/generate/dist/tools/generate && touch tools/generate/dist/tools/generate/generate.js && ${command} > packages/server/built.txt\n`,
      'node_modules/.bin/vite': '#!/bin/sh\n',
      'node_modules/.bin/npm': `#!/bin/sh
        test "$1" = pack || exec echo https://registry.example.com
        tar --create --mtime=@0 packages | gzip --no-name > "$5/leadtap-1.2.3.tgz"\n`,
    };
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
      if (path.includes('/.bin/')) chmodSync(join(folder, path), 0o755);
    }
    commitAll(folder);
    return folder;
  }

  const checkReproducible = (root: string) => {
    vi.stubEnv('PATH', `${join(root, 'node_modules/.bin')}:${process.env['PATH']}`);
    onTestFinished(() => void vi.unstubAllEnvs());
    return release(root, '--dry-run', '--check-reproducible');
  };

  test('a release is refused if its build depends on the folder', async () => {
    const root = repositoryWhoseBuildPrints('pwd');
    const { code, stderr } = await checkReproducible(root);
    expect(stderr).toContain('A second build in another folder has other checksums:');
    expect(code).toBe(1);
  });
});

test('the notes link to the files of the tag: GitHub shows them where relative links lead nowhere', () => {
  const text = '[Docs](docs/a.md#b), [Changed](#changed), [web](https://example.com)';
  const changelog = `## [1.2.3] - 2026-01-02\n\n${text}\n`;
  const files = 'https://github.com/ada/leadtap/blob/v1.2.3';
  expect(releaseNotes(changelog, '1.2.3', 'https://github.com/ada/leadtap')).toBe(
    `[Docs](${files}/docs/a.md#b), [Changed](${files}/CHANGELOG.md#changed), [web](https://example.com)`,
  );
  expect(releaseNotes(changelog, '1.2.3')).toBe(text);
});

describe('a release is refused', () => {
  const project = (files: Record<string, unknown>): string => {
    const folder = tempFolder();
    for (const [name, content] of Object.entries({ 'package.json': { version: '1.2.3' }, ...files }))
      writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
    return folder;
  };
  const locked = (entry: object) =>
    project({
      'package-lock.json': {
        packages: {
          'packages/server': { name: 'leadtap', version: '1.2.3', license: 'MIT', dependencies: { a: '1' } },
          'node_modules/a': { version: '1.0.0', license: 'MIT', ...entry },
        },
      },
    });

  test('without a dated section in the changelog', () => {
    const changelog = (text: string) => checkChangelog(project({ 'CHANGELOG.md': text }));
    expect(changelog('## [Unreleased]\n\n## [1.2.3]\n\n- New\n')).toEqual([
      'CHANGELOG.md has no section for 1.2.3. Write one with the heading `## [1.2.3] - YYYY-MM-DD`.',
    ]);
    expect(changelog('## [1.2.3] - 2026-01-02\n\n## [1.2.2] - 2026-01-01\n\n- Old\n')).toHaveLength(1);
    expect(changelog('## [1.2.3] - 2026-01-02\n\n- New\n')).toEqual([]);
  });

  test('with the tag of another version, or with unreleased changes', () => {
    const folder = project({ 'CHANGELOG.md': '## [Unreleased]\n\n## [1.2.3] - 2026-01-02\n\n- New\n' });
    expect(checkTag(folder, 'v1.2.3')).toEqual([]);
    expect(checkTag(folder, 'v1.2.4')).toEqual([
      'The tag is v1.2.4, the version is 1.2.3. Tag the commit with `git tag v1.2.3`.',
    ]);
    expect(hasUnreleasedChanges('## [Unreleased]\n\n### Fixed\n\n- Later\n')).toBe(true);
    expect(hasUnreleasedChanges('## [Unreleased]\n')).toBe(false);
  });

  test('if npm would refuse it for the repository that it names', () => {
    const [problem] = checkRepository(project({}), 'ada/leadtap');
    expect(problem).toContain('Set "repository" in package.json to "https://github.com/ada/leadtap"');
    const named = { version: '1.2.3', repository: 'https://github.com/ada/leadtap' };
    expect(checkRepository(project({ 'package.json': named }), 'ada/leadtap')).toEqual([]);
  });

  test('with a dependency that has no licence, or that another package stands for', () => {
    expect(checkRuntimePackages(locked({}))).toEqual([]);
    expect(checkRuntimePackages(locked({ license: undefined }))).toEqual([
      'a names no licence. Replace it, or ask its author to add one.',
    ]);
    expect(checkRuntimePackages(locked({ name: 'b' }))[0]).toContain('has b as node_modules/a');
  });

  test('with a path of the machine, or a source map without its source, in a package', () => {
    const folder = project({
      'built.js': 'const path = "/home/ada/leadtap/";\n//# sourceMappingURL=built.js.map\n',
      'found.js': '//# sourceMappingURL=found.js.map\n',
      'found.js.map': { sources: ['found.js', '../src/lost.ts'] },
    });
    execFileSync('tar', ['-czf', 'packed.tgz', ...readdirSync(folder)], { cwd: folder });
    const words = new Map([['/home/ada/', 'a path of this machine']]);
    expect(checkPackage(join(folder, 'packed.tgz'), words).sort()).toEqual([
      'packed.tgz, built.js contains /home/ada/, a path of this machine.',
      'packed.tgz, built.js refers to built.js.map, which is not in the package.',
      'packed.tgz, found.js.map refers to ../src/lost.ts, which is not in the package.',
    ]);
  });
});
