import { parseEnv } from 'node:util';
import type { ConfigProblem } from './problems.ts';

export interface Dotenv {
  readonly texts: Readonly<Record<string, string | undefined>>;
  readonly problems: readonly ConfigProblem[];
}

/** Windows programs write it at the beginning of a UTF-8 file. */
const BYTE_ORDER_MARK = /^\uFEFF/;

/** A blank line, a comment, or NAME=value, whose value may go over several lines in quotes; else any line. */
const STATEMENT =
  /^[ \t]*(?:(?:#.*)?|(?:export[ \t]+)?[^\s=#]+[ \t]*=[ \t]*(?:"[^"]*"|'[^']*'|`[^`]*`)?.*)\r?$|^(?<broken>.*)$/gm;

/** Node takes a line without `=` and the line below it for one name, or ignores it. So such lines are reported here. */
export function parseDotenv(text: string): Dotenv {
  const plain = text.replace(BYTE_ORDER_MARK, '');
  const problems: ConfigProblem[] = [];
  const usable = plain.replace(STATEMENT, (statement: string, broken: string | undefined, offset: number) => {
    if (broken === undefined) return statement;
    problems.push(brokenLine(broken, plain.slice(0, offset).split('\n').length));
    return '';
  });
  return { texts: parseEnv(usable), problems };
}

/** The line itself is not shown: it may be a part of a secret. */
function brokenLine(line: string, number: number): ConfigProblem {
  const name = /^\s*(?:export\s+)?(LEADTAP_\w+)/.exec(line)?.[1];
  return {
    name: '.env',
    wrong: `line ${number} is not NAME=value`,
    write: name === undefined ? 'Correct it, or write # before it.' : `Write ${name}=value.`,
  };
}
