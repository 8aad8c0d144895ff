/**
 * `npm run release -- --dry-run`: builds everything that a release publishes into `release/`, and checks it. The workflow
 * .github/workflows/release.yml does the same for a tag, and publishes the folder.
 */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { buildRelease, CHECKSUMS, readProject } from './build.ts';
import * as checks from './checks.ts';
import { makeCleanCopy } from './clean-copy.ts';
import { git } from './commands.ts';

const USAGE = `npm run release -- --dry-run

Builds the release of the last commit into release/, checks it, and publishes nothing. To publish, push a tag:
CONTRIBUTING.md, "Release", has the steps.

  --check-reproducible     builds a second time in another folder, and compares the checksums
  --tag TAG                checks that the tag is that of the version, and that nothing stands for a later value
  --repository OWNER/NAME  checks that the packages name this repository on GitHub
`;

const print = (text: string) => process.stdout.write(`${text}\n`);

/** The checksums of the release, built in a new folder whose path begins with the prefix. */
function build(root: string, prefix: string, check: (copy: string, out: string) => string[]): Build {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  try {
    const [copy, out] = [join(folder, 'leadtap'), join(folder, 'release')];
    makeCleanCopy(root, copy);
    buildRelease(root, copy, out);
    return { checksums: readFileSync(join(out, CHECKSUMS), 'utf8'), problems: check(copy, out) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Build {
  readonly checksums: string;
  readonly problems: readonly string[];
}

function release(root: string, isPublished: boolean, isRepeated: boolean): readonly string[] {
  const target = join(root, 'release');
  rmSync(target, { recursive: true, force: true });
  print(
    `Building the release of commit ${git(root, 'rev-parse', '--short', 'HEAD')}. It takes about a minute.`,
  );
  const first = build(root, 'leadtap-release-', (copy, out) => {
    const words = checks.forbiddenWords(root, copy, isPublished);
    const archives = readdirSync(out).filter((name) => name.endsWith('.tgz'));
    const problems = [
      ...checks.checkGeneratedFiles(copy),
      ...archives.flatMap((name) => checks.checkPackage(join(out, name), words)),
    ];
    // Packages are first published by hand from this folder: it never has files that failed a check.
    if (problems.length === 0) cpSync(out, target, { recursive: true });
    return problems;
  });
  print(first.checksums.trimEnd());
  if (!isRepeated) return first.problems;
  const second = build(root, 'leadtap-release-in-another-folder-', () => []);
  if (first.checksums === second.checksums) {
    print('Reproducible: a second build in another folder has the same checksums.');
    return first.problems;
  }
  return [...first.problems, `A second build in another folder has other checksums:\n${second.checksums}`];
}

interface Options {
  readonly 'check-reproducible'?: boolean;
  readonly tag?: string;
  readonly repository?: string;
}

/** The options, or what is wrong with them. */
function readOptions(): Options | string {
  try {
    const { values } = parseArgs({
      options: {
        'dry-run': { type: 'boolean' },
        'check-reproducible': { type: 'boolean' },
        tag: { type: 'string' },
        repository: { type: 'string' },
      },
    });
    return values['dry-run']
      ? values
      : 'Nothing was built: only the workflow publishes. Run `npm run release -- --dry-run`.';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function rootOfRepository(): string | undefined {
  try {
    return git('.', 'rev-parse', '--show-toplevel');
  } catch {
    return undefined;
  }
}

function main(): number {
  const options = readOptions();
  if (typeof options === 'string') {
    process.stderr.write(`${options}\n\n${USAGE}`);
    return 2;
  }
  const root = rootOfRepository();
  if (root === undefined) {
    process.stderr.write('A release is built from a commit. Run this in a clone of the repository.\n');
    return 1;
  }
  const { tag, repository, 'check-reproducible': isRepeated = false } = options;
  const found = checks.checkCommit(root, { tag, repository });
  const problems = found.length > 0 ? found : release(root, tag !== undefined, isRepeated);
  for (const problem of problems) process.stderr.write(`✗ ${problem}\n`);
  if (problems.length > 0) return 1;
  print(`Leadtap ${readProject(root).version} is ready in release/. Nothing was published.`);
  return 0;
}

// npm packs files with the modes that they have here.
process.umask(0o022);
process.exitCode = main();
