import { parseDotenv } from './dotenv.ts';
import type { ConfigProblem } from './problems.ts';
import { unknownNames } from './unknown-names.ts';
import { VARIABLES, type Variable, type VariableWithDefault } from './variables.ts';

/** Flags that stand for a variable. */
export interface ConfigFlags {
  readonly host?: string | undefined;
  readonly port?: string | undefined;
}

export interface ConfigSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The text of a `.env` file. The environment wins over it, and flags win over both. */
  readonly dotenv?: string | undefined;
  readonly flags?: ConfigFlags | undefined;
  /** Relative paths are meant from here. */
  readonly cwd: string;
}

type Texts = Readonly<Record<string, string | undefined>>;

interface Source {
  readonly texts: Texts;
  /** How a person wrote it there. */
  readonly spelling: (name: string) => string;
}

/** Reads variables from the sources in their order, and keeps every problem for the end. */
export class Settings {
  readonly problems: ConfigProblem[];
  readonly #sources: readonly Source[];
  readonly #cwd: string;

  constructor({ env, dotenv, flags, cwd }: ConfigSources) {
    const file = parseDotenv(dotenv ?? '');
    this.#sources = [
      { texts: flagTexts(flags), spelling: flagSpelling },
      { texts: env, spelling: (name) => name },
      { texts: file.texts, spelling: (name) => `${name} in .env` },
    ];
    this.#cwd = cwd;
    const unknown = this.#sources.flatMap(({ texts, spelling }) =>
      unknownNames(texts).map((problem) => ({ ...problem, name: spelling(problem.name) })),
    );
    this.problems = [...unknown, ...file.problems];
  }

  /** A wrong value gives the default here, only so that the rest is checked too: the problem stops the start. */
  read<T>(variable: VariableWithDefault<T>): T {
    const value = this.readOptional(variable);
    if (value !== undefined) return value;
    const parsed = variable.parse(variable.default, this.#cwd);
    if (parsed.kind === 'right') return parsed.value;
    throw new Error(`the default of ${variable.name} is wrong: ${parsed.wrong}`);
  }

  readOptional<T>(variable: Variable<T>): T | undefined {
    const found = this.#find(variable.name);
    if (found === undefined) return undefined;
    const parsed = variable.parse(found.text, this.#cwd);
    if (parsed.kind === 'right') return parsed.value;
    this.problems.push({ name: found.spelling, wrong: parsed.wrong, write: parsed.write });
    return undefined;
  }

  isSet(variable: Variable<unknown>): boolean {
    return this.#find(variable.name) !== undefined;
  }

  /** For rules that concern more than one variable. */
  addProblem(variable: Variable<unknown>, wrong: string, write: string): void {
    this.problems.push({ name: this.#find(variable.name)?.spelling ?? variable.name, wrong, write });
  }

  /** An empty text counts as not set: that is what `NAME=` and an unset variable of a compose file give. */
  #find(name: string): { text: string; spelling: string } | undefined {
    for (const { texts, spelling } of this.#sources) {
      const text = texts[name]?.trim();
      if (text) return { text, spelling: spelling(name) };
    }
    return undefined;
  }
}

const flagTexts = (flags: ConfigFlags | undefined): Texts => ({
  [VARIABLES.host.name]: flags?.host,
  [VARIABLES.port.name]: flags?.port,
});

const flagSpelling = (name: string): string => (name === VARIABLES.host.name ? '--host' : '--port');
