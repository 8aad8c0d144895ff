import { EXIT_CODES } from './exit-code.ts';

/** How a command can fail for a reason that a person can fix. The same kind has the same exit code in every command. */
const EXIT_CODE_OF = {
  /** A file or a value that the command was given is wrong. */
  'bad-input': EXIT_CODES.failed,
  'not-found': EXIT_CODES.failed,
  conflict: EXIT_CODES.failed,
  /** The database, a file or a port that the command needs cannot be used. */
  unavailable: EXIT_CODES.failed,
  usage: EXIT_CODES.usage,
  configuration: EXIT_CODES.usage,
} as const;

export type FailureKind = keyof typeof EXIT_CODE_OF;

/** Printed as `leadtap: <message>`, with the system's code of its cause, and, below it, what to do. Never with a stack. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly kind: FailureKind;
  readonly fix: readonly string[];

  constructor(kind: FailureKind, message: string, ...fix: string[]) {
    super(message);
    this.kind = kind;
    this.fix = fix;
  }

  causedBy(error: unknown): this {
    this.cause = error;
    return this;
  }

  get exitCode(): number {
    return EXIT_CODE_OF[this.kind];
  }
}
