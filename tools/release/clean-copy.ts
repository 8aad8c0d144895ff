import { mkdirSync, readdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { git, run } from './commands.ts';

/** The files of the commit, without what earlier builds left behind, and with the installed dependencies. */
export function makeCleanCopy(root: string, copy: string): void {
  mkdirSync(copy, { recursive: true });
  const archive = join(copy, '.commit.tar');
  git(root, 'archive', '--format=tar', `--output=${archive}`, 'HEAD');
  run(copy, 'tar', '-xf', archive);
  rmSync(archive);
  linkDependencies(join(root, 'node_modules'), join(copy, 'node_modules'));
}

/** npm links a workspace by a relative path, so the same link leads to the package of the copy. */
export function linkDependencies(from: string, to: string): void {
  mkdirSync(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else if (entry.name.startsWith('@')) linkDependencies(source, target);
    else if (entry.name === '.bin' || !entry.name.startsWith('.')) symlinkSync(source, target);
  }
}
