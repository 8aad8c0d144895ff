import { execFileSync } from 'node:child_process';
import process from 'node:process';

/** The output of a program. Its errors go to the terminal, and a failure of it is thrown. */
export const run = (cwd: string, program: string, ...args: readonly string[]): string =>
  execFileSync(program, args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 2 ** 28,
    shell: process.platform === 'win32',
  });

export const git = (root: string, ...args: readonly string[]): string => run(root, 'git', ...args).trim();
