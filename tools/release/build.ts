/** Everything that a release publishes, built from the commit in a clean copy. */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { releaseNotes } from './changelog.ts';
import { git, run } from './commands.ts';
import { cycloneDx } from './sbom.ts';

/** The packages on npm. */
export const PUBLISHED = ['packages/contract', 'packages/server', 'packages/client', 'integrations/n8n/node'];

/** What the packages and their checks need beyond their own folders; the console offers two of them as downloads. */
const ALSO_BUILT = ['packages/client/cjs', 'integrations/activepieces/piece', 'tools/generate'];
const SERVER = 'packages/server';
export const CHECKSUMS = 'SHA256SUMS';

/** Of the root of the repository. */
export interface Project {
  readonly version: string;
  readonly repository?: string;
}

export const readProject = (root: string): Project =>
  JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

export const readLock = (root: string) =>
  JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;

const programOf = (name: string): string => join('node_modules', '.bin', name);

/** Builds the copy and writes the files of the release into a new folder. */
export function buildRelease(root: string, copy: string, out: string): void {
  const { version, repository } = readProject(copy);
  mkdirSync(out, { recursive: true });
  run(copy, programOf('tsc'), '--build', ...PUBLISHED, ...ALSO_BUILT);
  run(copy, programOf('vite'), 'build', 'packages/console');
  // Without scripts: they build again, and that of n8n needs its own tool.
  const folders = PUBLISHED.map((folder) => `./${folder}`);
  run(copy, 'npm', 'pack', '--silent', '--ignore-scripts', '--pack-destination', out, ...folders);
  const context = join(out, `leadtap-${version}-container.tar`);
  // The default of Git, whatever is configured on this machine: the modes of the files depend on it.
  const options = ['-c', 'tar.umask=0002', 'archive', '--format=tar', `--output=${context}`];
  git(root, ...options, 'HEAD', '--', ...contextPaths(copy));
  const timestamp = new Date(Number(git(root, 'log', '-1', '--format=%ct')) * 1000).toISOString();
  const sbom = cycloneDx(readLock(copy), SERVER, timestamp);
  writeFileSync(join(out, `leadtap-${version}.cdx.json`), `${JSON.stringify(sbom, null, 2)}\n`);
  const notes = releaseNotes(readFileSync(join(copy, 'CHANGELOG.md'), 'utf8'), version, repository);
  writeFileSync(join(out, 'RELEASE_NOTES.md'), `${notes}\n`);
  writeFileSync(join(out, CHECKSUMS), checksumsOf(out));
}

/** As `sha256sum` writes them, and `sha256sum --check` reads them. */
function checksumsOf(folder: string): string {
  const lines = readdirSync(folder)
    .sort()
    .map((name) => {
      const digest = createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex');
      return `${digest}  ${name}\n`;
    });
  return lines.join('');
}

/** What .dockerignore lets through, as path patterns of Git. */
function contextPaths(copy: string): string[] {
  const rules = readFileSync(join(copy, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && line !== '*' && !line.startsWith('#'));
  const included = rules.filter((rule) => rule.startsWith('!')).map((rule) => rule.slice(1));
  const excluded = rules.filter((rule) => !rule.startsWith('!'));
  return ['Dockerfile', '.dockerignore', ...included, ...excluded.map((rule) => `:(exclude,glob)${rule}/**`)];
}
