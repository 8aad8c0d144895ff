/**
 * `prepack` of each package: compiles it again, then deletes the files that the compiler did not write, such as those of a
 * deleted source. The others are replaced in place, because a program that runs meanwhile may still import them.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

const projects = process.argv.slice(2);
const writtenAt = (file) => statSync(file, { bigint: true }).mtimeNs;

const earlier = projects
  .map((project) => join(project, 'dist'))
  .filter((folder) => existsSync(folder))
  .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
  .filter((entry) => entry.isFile())
  .map(({ parentPath, name }) => join(parentPath, name))
  .map((file) => ({ file, at: writtenAt(file) }));

// With it, the compiler would write only what has changed.
for (const project of projects) rmSync(join(project, 'tsconfig.tsbuildinfo'), { force: true });
execFileSync('tsc', ['--build', ...projects], { stdio: 'inherit', shell: process.platform === 'win32' });
for (const { file, at } of earlier) if (writtenAt(file) === at) rmSync(file);
