/** Flags, environment and `.env`: which one sets a variable, and every problem in them. */
import { parseEnv } from 'node:util';
import { nearestName } from '../lib/nearest-name.ts';
import { InvalidValueError, kubernetesVariable } from './values.ts';
import {
  CLIENT_VARIABLE_NAMES,
  VARIABLE_NAMES,
  VARIABLES,
  type Variable,
  type VariableWithDefault,
} from './variables.ts';

/** One problem of the configuration. It never contains a secret. */
export interface ConfigProblem {
  /** The variable or the flag. */
  readonly name: string;
  readonly problem: string;
  /** What to write instead, as a sentence. */
  readonly fix: string;
}

export const describeProblem = ({ name, problem, fix }: ConfigProblem): string =>
  `${name}: ${problem}. ${fix}`;

/** Has every problem of the configuration, so that the operator can fix all of them at once. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    super(problems.map(describeProblem).join('\n'));
    this.problems = problems;
  }
}

export interface ConfigFlags {
  readonly host?: string | undefined;
  readonly port?: string | undefined;
}

export interface ConfigSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The text of a `.env` file. The environment overrides it, and flags override both. */
  readonly dotenv?: string | undefined;
  readonly flags?: ConfigFlags | undefined;
  /** Relative paths start here. */
  readonly cwd: string;
}

interface Source {
  readonly values: Readonly<Record<string, string | undefined>>;
  /** The name of a variable as it is written in this source. */
  readonly nameOf: (variable: string) => string;
}

/** Reads variables from the sources and collects the problems. */
export class Settings {
  readonly problems: ConfigProblem[];
  readonly #sources: readonly Source[];
  readonly #cwd: string;

  constructor({ env, dotenv = '', flags, cwd }: ConfigSources) {
    const file = parseDotenv(dotenv);
    const { host, port } = VARIABLES;
    this.#sources = [
      {
        values: { [host.name]: flags?.host, [port.name]: flags?.port },
        nameOf: (name) => (name === host.name ? '--host' : '--port'),
      },
      { values: env, nameOf: (name) => name },
      { values: file.values, nameOf: (name) => `${name} in .env` },
    ];
    this.#cwd = cwd;
    this.problems = [...this.#sources.flatMap(findUnknownNames), ...file.problems];
  }

  /** After an invalid value it returns the default, so that the other variables are checked too. */
  read<T>(variable: VariableWithDefault<T>): T {
    return this.readOptional(variable) ?? variable.parse(variable.default, this.#cwd);
  }

  readOptional<T>(variable: Variable<T>): T | undefined {
    const found = this.#find(variable.name);
    if (found === undefined) return undefined;
    try {
      return variable.parse(found.text, this.#cwd);
    } catch (error) {
      if (!(error instanceof InvalidValueError)) throw error;
      this.problems.push({ name: found.name, problem: error.message, fix: error.fix });
      return undefined;
    }
  }

  isSet(variable: Variable<unknown>): boolean {
    return this.#find(variable.name) !== undefined;
  }

  /** For rules about more than one variable. */
  addProblem(variable: Variable<unknown>, problem: string, fix: string): void {
    this.problems.push({ name: this.#find(variable.name)?.name ?? variable.name, problem, fix });
  }

  /** Empty means not set: `NAME=` and an unset variable of a compose file give an empty text. */
  #find(variable: string): { text: string; name: string } | undefined {
    for (const { values, nameOf } of this.#sources) {
      const text = values[variable]?.trim();
      if (text) return { text, name: nameOf(variable) };
    }
    return undefined;
  }
}

/** A misspelt variable would have no effect, so every unknown `LEADTAP_*` with a value is a problem. */
function findUnknownNames({ values, nameOf }: Source): ConfigProblem[] {
  return Object.entries(values)
    .map(([name, text = '']) => ({ name, text: text.trim() }))
    .filter(({ name, text }) => name.startsWith('LEADTAP_') && text !== '')
    .filter(({ name }) => !VARIABLE_NAMES.includes(name) && !CLIENT_VARIABLE_NAMES.includes(name))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ name, text }) => ({ name: nameOf(name), ...explainUnknownName(name, text) }));
}

function explainUnknownName(name: string, text: string): Omit<ConfigProblem, 'name'> {
  if (/_SERVICE_(HOST|PORT)|_PORT_\d+_/.test(name) || /^(tcp|udp|sctp):\/\//.test(text)) {
    const { message, fix } = kubernetesVariable();
    return { problem: message, fix };
  }
  const nearest = nearestName(name, VARIABLE_NAMES);
  const fix = nearest === undefined ? 'Remove it, or check its spelling.' : `Did you mean ${nearest}?`;
  return { problem: 'there is no such variable', fix };
}

/** Windows programs write it at the start of a UTF-8 file. */
const BYTE_ORDER_MARK = /^\uFEFF/;

/** An empty line, a comment, or NAME=value, whose quoted value may have several lines. Any other line is invalid. */
const STATEMENT =
  /^[ \t]*(?:(?:#.*)?|(?:export[ \t]+)?[^\s=#]+[ \t]*=(?:[ \t]*(?:"[^"]*"|'[^']*'|`[^`]*`))?.*)\r?$|^(?<invalid>.*)$/gm;

/** Node ignores a line without `=`, or joins it with the next line. Here it is a problem. */
function parseDotenv(text: string): Pick<Source, 'values'> & { readonly problems: readonly ConfigProblem[] } {
  const lines = text.replace(BYTE_ORDER_MARK, '');
  const problems: ConfigProblem[] = [];
  let line = 1;
  let counted = 0;
  const valid = lines.replace(STATEMENT, (statement: string, invalid: string | undefined, offset: number) => {
    if (invalid === undefined) return statement;
    line += lines.slice(counted, offset).split('\n').length - 1;
    counted = offset;
    problems.push(invalidLine(invalid, line));
    return '';
  });
  return { values: parseEnv(valid), problems };
}

/** The line itself is not shown: it may be part of a secret. */
function invalidLine(line: string, number: number): ConfigProblem {
  const variable = /^\s*(?:export\s+)?(LEADTAP_\w+)/.exec(line)?.[1];
  return {
    name: '.env',
    problem: `line ${number} is not NAME=value`,
    fix: variable === undefined ? 'Correct the line, or write # before it.' : `Write ${variable}=value.`,
  };
}
