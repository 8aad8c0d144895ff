import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../harness/temp-folder.ts';
import { chooseChangeTests } from '../vitest/change-tests.ts';
import { findChange } from '../vitest/changed-files.ts';
import { testFiles, testsOnPostgres, testsOnSqlite } from '../vitest/test-files.ts';

const DEPENDENT = 'test/types-work-with-older-typescript.test.ts';
const changeOf = (...files: readonly string[]) => ({ base: 'HEAD~1', files: new Set(files) });

describe('the tests of a change', () => {
  it('are all tests on SQLite but those that say what they depend on, and those are named', () => {
    const { sqlite, leftOut } = chooseChangeTests(changeOf('packages/server/src/app.ts'));
    const left = testsOnSqlite().filter((path) => !sqlite.includes(path));
    expect(left).toContain(DEPENDENT);
    const texts = new Map(testFiles().map(({ path, text }) => [path, text]));
    for (const path of left) {
      expect(texts.get(path), path).toMatch(/^\/\/ @nightly and after a change of \S/m);
      expect(leftOut).toContain(path);
    }
    // With those of the oldest library of n8n.
    expect(leftOut).toContain(
      `- ${left.length + 1} test files, because nothing that they depend on differs from HEAD~1`,
    );
  });

  it.each([
    ['a file of a folder that it depends on', changeOf('packages/client/src/index.ts')],
    ['a file that it depends on', changeOf('package-lock.json')],
    ['the test itself', changeOf(DEPENDENT)],
    ['git cannot say what', undefined],
  ])('are also those that depend on what changed: %s', (_, change) => {
    expect(chooseChangeTests(change).sqlite).toContain(DEPENDENT);
  });

  it('are on PostgreSQL those of PostgreSQL and of what the stores do differently; the others run on SQLite', () => {
    const { sqlite, postgres, leftOut } = chooseChangeTests(changeOf());
    const left = testsOnPostgres().filter((path) => !postgres.includes(path));
    expect(left.filter((path) => !sqlite.includes(path))).toEqual([]);
    expect(postgres).toContain('packages/server/test/store/store-conforms.test.ts');
    expect(postgres).toContain('packages/server/test/intake/leads-are-acknowledged-after-the-commit.test.ts');
    expect(left).toContain('packages/server/test/http/order-of-checks.test.ts');
    expect(leftOut).toContain(`- ${left.length} test files on PostgreSQL`);
  });
});

describe('a change', () => {
  function repository() {
    const root = tempFolder();
    const git = (...args: readonly string[]) =>
      execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args], {
        cwd: root,
      });
    const commit = (path: string) => {
      writeFileSync(join(root, path), path);
      git('add', '.');
      git('commit', '--quiet', '--message', path);
    };
    git('init', '--quiet', '--initial-branch', 'main');
    commit('first');
    return { root, git, commit };
  }
  const filesOf = (root: string, base?: string) => [...(findChange(root, base)?.files ?? ['unknown'])].sort();

  it('on main is what the last commit and the work tree have', () => {
    const { root, commit } = repository();
    commit('second');
    commit('third');
    mkdirSync(join(root, 'folder'));
    for (const path of ['second', 'folder/new']) writeFileSync(join(root, path), 'changed');
    expect(filesOf(root)).toEqual(['folder/new', 'second', 'third']);
    expect(filesOf(root, 'HEAD')).toEqual(['folder/new', 'second']);
  });

  it('on a branch is all since it left main', () => {
    const { root, git, commit } = repository();
    git('switch', '--quiet', '--create', 'feature');
    commit('second');
    commit('third');
    expect(filesOf(root)).toEqual(['second', 'third']);
  });

  it('is unknown without history, with an unknown base, and without a repository', () => {
    const { root } = repository();
    expect(findChange(root)).toBeUndefined();
    expect(findChange(root, 'f00')).toBeUndefined();
    expect(findChange(tempFolder())).toBeUndefined();
  });
});
