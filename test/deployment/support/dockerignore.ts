/** Which files of the repository are in the build context. */
import { readFileSync } from 'node:fs';
import { ROOT } from './dockerfile.ts';

interface Rule {
  readonly pattern: RegExp;
  readonly isException: boolean;
}

const RULES: readonly Rule[] = readFileSync(`${ROOT}.dockerignore`, 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => ({ pattern: patternOf(line.replace(/^!/, '')), isException: line.startsWith('!') }));

/** A rule for a folder applies to everything in it. */
function patternOf(rule: string): RegExp {
  const source = rule
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('**/', '(.+/)?')
    .replaceAll('*', '[^/]*');
  return new RegExp(`^${source}(/.*)?$`);
}

/** The last rule that matches decides. The path is relative to the root of the repository. */
export function isInContext(path: string): boolean {
  return RULES.findLast(({ pattern }) => pattern.test(path))?.isException ?? true;
}
