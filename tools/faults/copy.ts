import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { linkDependencies } from '../release/clean-copy.ts';
import { git } from '../release/commands.ts';

const IS_BUILT = /(?:^|\/)dist\/|\.tsbuildinfo$/;

/** Copies the working tree with what is not committed and with its build, and links the installed dependencies. */
export function copyWorkingTree(root: string, copy: string): void {
  const list = (...args: readonly string[]) =>
    git(root, 'ls-files', '-z', '--exclude-standard', ...args)
      .split('\0')
      .filter(Boolean);
  const sources = list('--cached', '--others').filter((path) => existsSync(join(root, path)));
  const built = list('--others', '--ignored', '--', 'packages', 'integrations', 'tools').filter((path) =>
    IS_BUILT.test(path),
  );
  for (const path of [...sources, ...built]) {
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    // A build is as old as it is: tests compare its time with those of the sources.
    cpSync(join(root, path), join(copy, path), { preserveTimestamps: true });
  }
  linkDependencies(join(root, 'node_modules'), join(copy, 'node_modules'));
}
