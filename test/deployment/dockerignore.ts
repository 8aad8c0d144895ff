/** Which files of the repository an engine is given to build from. */
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

/** A rule for a folder is a rule for all that is in it. */
function patternOf(rule: string): RegExp {
  const source = rule
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('**/', '(.+/)?')
    .replaceAll('*', '[^/]*');
  return new RegExp(`^${source}(/.*)?$`);
}

/** The last rule that fits decides. The path is relative to the repository's root. */
export function isInContext(path: string): boolean {
  return RULES.findLast(({ pattern }) => pattern.test(path))?.isException ?? true;
}
