/** Which files a change touches, as git sees it. */
import { execFileSync } from 'node:child_process';

export interface Change {
  /** What the work tree is compared with, for people: a name or a commit. */
  readonly base: string;
  /** From the root of the repository, with what is not committed. */
  readonly files: ReadonlySet<string>;
}

/** The branch that changes are merged into. */
const MAIN = ['origin/main', 'main'];

/**
 * The change since `base`; without one, since the branch left `main`, and on `main` since the commit before. Undefined where
 * git cannot say, such as in a clone without history.
 */
export function findChange(root: string, base?: string): Change | undefined {
  const git = (...args: readonly string[]): string[] =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
      .split(/[\0\n]/)
      .filter(Boolean);
  try {
    const since = base ?? findBase(git);
    const changed = git('diff', '--name-only', '--no-renames', '-z', '--end-of-options', since, '--');
    const untracked = git('ls-files', '--others', '--exclude-standard', '-z');
    return { base: since, files: new Set([...changed, ...untracked]) };
  } catch {
    return undefined;
  }
}

function findBase(git: (...args: readonly string[]) => readonly string[]): string {
  const [head] = git('rev-parse', 'HEAD');
  for (const main of MAIN) {
    if (git('for-each-ref', '--count=1', `refs/heads/${main}`, `refs/remotes/${main}`).length === 0) continue;
    const [base] = git('merge-base', 'HEAD', main);
    if (base !== undefined && base !== head) return base.slice(0, 12);
  }
  return 'HEAD~1';
}
