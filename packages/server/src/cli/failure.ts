/** How a command can fail for a reason that a person can mend. The exit code is part of the contract. */
const EXIT_CODES = {
  /** The command ran, and something in what it was given is wrong. */
  'bad-input': 1,
  'not-found': 1,
  conflict: 1,
  unavailable: 1,
  /** The command line or the configuration is wrong: nothing was tried. */
  usage: 2,
  configuration: 2,
} as const;

export type FailureKind = keyof typeof EXIT_CODES;

/** Printed as `leadtap: <message>`, with the system's code of its cause, and, below it, what to do. Never with a stack. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly kind: FailureKind;
  readonly mend: readonly string[];

  constructor(kind: FailureKind, message: string, ...mend: string[]) {
    super(message);
    this.kind = kind;
    this.mend = mend;
  }

  causedBy(error: unknown): this {
    this.cause = error;
    return this;
  }

  get exitCode(): number {
    return EXIT_CODES[this.kind];
  }
}
