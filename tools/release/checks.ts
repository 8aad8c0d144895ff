/** What must hold before a release is published. Each check returns a sentence for each problem, which says what to do. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { readLock, readProject } from './build.ts';
import { changelogSection, hasUnreleasedChanges } from './changelog.ts';
import { git, run } from './commands.ts';
import { runtimePackages } from './sbom.ts';

export interface Publication {
  /** Without it, nothing is about to be published. */
  readonly tag?: string | undefined;
  /** `owner/name` on GitHub. */
  readonly repository?: string | undefined;
}

/** What can be checked before the build. */
export const checkCommit = (root: string, { tag, repository }: Publication): string[] => [
  ...checkWorkTree(root),
  ...checkChangelog(root),
  ...checkRuntimePackages(root),
  ...(tag === undefined ? [] : checkTag(root, tag)),
  ...(repository === undefined ? [] : checkRepository(root, repository)),
];

function checkWorkTree(root: string): string[] {
  const changed = git(root, 'status', '--porcelain');
  if (changed === '') return [];
  return [`A release contains what is committed. Commit or discard these changes first:\n${changed}`];
}

const readChangelog = (root: string): string => readFileSync(join(root, 'CHANGELOG.md'), 'utf8');

export function checkChangelog(root: string): string[] {
  const { version } = readProject(root);
  if (changelogSection(readChangelog(root), version)) return [];
  return [
    `CHANGELOG.md has no section for ${version}. Write one with the heading \`## [${version}] - YYYY-MM-DD\`.`,
  ];
}

/** A package that is used in place of another one would be in the image, but in no installation from npm. */
export function checkRuntimePackages(root: string): string[] {
  return [...runtimePackages(readLock(root), 'packages/server')].flatMap(([path, { name, license }]) => [
    ...(license === undefined ? [`${name} names no licence. Replace it, or ask its author to add one.`] : []),
    ...(path.includes('node_modules/') && !path.endsWith(`node_modules/${name}`)
      ? [`package-lock.json has ${name} as ${path}, for a tool. Move it into the folder of that tool.`]
      : []),
  ]);
}

export function checkTag(root: string, tag: string): string[] {
  const { version } = readProject(root);
  return [
    ...(tag === `v${version}`
      ? []
      : [`The tag is ${tag}, the version is ${version}. Tag the commit with \`git tag v${version}\`.`]),
    ...(hasUnreleasedChanges(readChangelog(root))
      ? [`CHANGELOG.md lists unreleased changes. Move them to the section of ${version}.`]
      : []),
  ];
}

/** npm refuses a package that names another repository than the one that it was built in. */
export function checkRepository(root: string, slug: string): string[] {
  const address = `https://github.com/${slug}`;
  if (readProject(root).repository === address) return [];
  return [`Set "repository" in package.json to "${address}", run \`npm run generate\` and commit.`];
}

/** Compares versions in all files, also those in the names of files in the docs. The copy has been built. */
export function checkGeneratedFiles(copy: string): string[] {
  try {
    run(copy, 'node', 'tools/generate/dist/tools/generate/generate.js', '--check');
    return [];
  } catch {
    return [
      'The version or other generated content differs between files. Run `npm run generate` and commit.',
    ];
  }
}

/** What the files of a packed package must not contain. */
export function checkPackage(archive: string, forbidden: ReadonlyMap<string, string>): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'leadtap-package-'));
  try {
    run(folder, 'tar', '-xzf', archive);
    const files = filesIn(folder);
    return files.flatMap((file) => {
      const text = readFileSync(file, 'latin1');
      const name = `${relative(dirname(archive), archive)}, ${relative(folder, file)}`;
      const contained = [...forbidden].filter(([word]) => text.includes(word));
      return [
        ...contained.map(([word, reason]) => `${name} contains ${word}, ${reason}.`),
        ...missingSources(file, text).map(
          (source) => `${name} refers to ${source}, which is not in the package.`,
        ),
      ];
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile());

/** The map that a script names, or the sources that a map names. */
function missingSources(file: string, text: string): string[] {
  const named = /\.(js|ts)$/.test(file)
    ? [...text.matchAll(/^\/\/# sourceMappingURL=(\S+)$/gm)].map(([, name = '']) => name)
    : file.endsWith('.map')
      ? (JSON.parse(text).sources as string[])
      : [];
  return named.filter((name) => !existsSync(join(dirname(file), name)));
}

/** What no package may contain, and why. */
export function forbiddenWords(root: string, copy: string, isPublished: boolean): Map<string, string> {
  const registry = new URL(run(root, 'npm', 'config', 'get', 'registry').trim()).host;
  const words = new Map<string, string>([
    ...[root, copy, homedir()].map((path) => [`${path}/`, 'a path of this machine'] as const),
    [registry, 'the registry that this machine installs from'],
  ]);
  if (isPublished) words.set('leadtap.example', 'which stands for the public address of the project');
  return words;
}
