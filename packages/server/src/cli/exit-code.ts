/** Every exit code that a command can have. docs/command-line.md lists the same. */
export const EXIT_CODES = {
  done: 0,
  /** What was given is wrong or missing, a line was rejected, or the database, a file or a port cannot be used. */
  failed: 1,
  /** The command line, `.env` or a `LEADTAP_*` variable is wrong: nothing was tried. */
  usage: 2,
  /** EX_SOFTWARE of sysexits.h: a defect of the program itself. */
  defect: 70,
  /** SIGHUP, as a shell shows it: the terminal was closed. */
  hungUp: 128 + 1,
  /** SIGINT, as a shell shows it. */
  interrupted: 128 + 2,
  /** SIGPIPE, as a shell shows it: the reader of the output, such as `head`, has closed it. */
  outputClosed: 128 + 13,
  /** SIGTERM, as a shell shows it. */
  terminated: 128 + 15,
} as const;

/** Ends a command with an exit code and no further word: what there was to say has been said. */
export class ExitCode extends Error {
  override readonly name = 'ExitCode';
  readonly code: number;

  constructor(code: number) {
    super(`exit code ${code}`);
    this.code = code;
  }
}
