/** Ends a command with an exit code and no further word: what there was to say has been said. */
export class ExitCode extends Error {
  override readonly name = 'ExitCode';
  readonly code: number;

  constructor(code: number) {
    super(`exit code ${code}`);
    this.code = code;
  }
}
