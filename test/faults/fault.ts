/** A planted fault: a change of the code that breaks a promise, and the test that must fail with it. */
export interface Fault {
  readonly name: string;
  /** What a user or an operator notices if no test fails. */
  readonly breaks: string;
  /** From the root of the repository, as `owner`. */
  readonly file: string;
  /** Occurs once in the file. */
  readonly find: string;
  readonly replace: string;
  /** The test file that must fail with an assertion. */
  readonly owner: string;
  /** A part of the names of its tests. Default: all of them run, up to the first that fails. */
  readonly test?: string;
  /** Default: `sqlite`. */
  readonly project?: Project;
}

export type Project = 'sqlite' | 'postgres';

/** The text of the file with the fault. Throws if its place is not found once. */
export function plant(
  { file, find, replace }: Pick<Fault, 'file' | 'find' | 'replace'>,
  text: string,
): string {
  const count = text.split(find).length - 1;
  if (count !== 1) throw new Error(`the text to replace occurs ${count} times in ${file}`);
  return text.replace(find, () => replace);
}
