/** One thing that is wrong with the configuration. Never shows a secret. */
export interface ConfigProblem {
  /** The variable, or the flag that stands for it. */
  readonly name: string;
  readonly wrong: string;
  /** What to write instead, as a sentence. */
  readonly write: string;
}

/** Everything that is wrong with the configuration, so that it can be mended at once. */
export class ConfigProblems extends Error {
  override readonly name = 'ConfigProblems';
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    super(problems.map(describeProblem).join('\n'));
    this.problems = problems;
  }
}

export const describeProblem = ({ name, wrong, write }: ConfigProblem): string =>
  `${name}: ${wrong}. ${write}`;
