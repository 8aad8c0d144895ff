/** How the process ends: exit codes, failures and signals. `bin` loads this file first, so it imports no other part. */
import process from 'node:process';

/** Every exit code of a command. docs/command-line.md has the same list. */
export const EXIT_CODES = {
  done: 0,
  /** An input is wrong or missing, a line was rejected, or the database, a file or a port cannot be used. */
  failed: 1,
  /** The command line, `.env` or a `LEADTAP_*` variable is wrong. The command did nothing. */
  usage: 2,
  /** EX_SOFTWARE of sysexits.h: a bug in Leadtap. */
  bug: 70,
  /** EX_TEMPFAIL of sysexits.h: the process supervisor must start `serve` again. */
  restart: 75,
  /** SIGHUP: the terminal was closed. */
  hungUp: 128 + 1,
  /** SIGINT. */
  interrupted: 128 + 2,
  /** SIGPIPE: the reader of the output, such as `head`, has closed it. */
  outputClosed: 128 + 13,
  /** SIGTERM. */
  terminated: 128 + 15,
} as const;

/** Ends a command with this exit code and prints nothing more. */
export class ExitCode extends Error {
  override readonly name = 'ExitCode';
  readonly code: number;

  constructor(code: number) {
    super(`exit code ${code}`);
    this.code = code;
  }
}

/** Each kind has the same exit code in every command. */
const EXIT_CODE_OF = {
  /** A file or a value that the command was given is wrong. */
  'bad-input': EXIT_CODES.failed,
  'not-found': EXIT_CODES.failed,
  conflict: EXIT_CODES.failed,
  /** The database, a file or a port that the command needs cannot be used. */
  unavailable: EXIT_CODES.failed,
  /** The service can only continue in a new process. */
  restart: EXIT_CODES.restart,
  usage: EXIT_CODES.usage,
  configuration: EXIT_CODES.usage,
} as const;

export type FailureKind = keyof typeof EXIT_CODE_OF;

/** Printed as `leadtap: <message>` with the system code of its cause; the lines below it say what to do. No stack. */
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

/** The exit code of a command that was aborted. */
export const exitCodeOf = ({ reason }: AbortSignal): ExitCode =>
  reason instanceof ExitCode ? reason : new ExitCode(EXIT_CODES.interrupted);

const SIGNALS = { SIGHUP: EXIT_CODES.hungUp, SIGINT: EXIT_CODES.interrupted, SIGTERM: EXIT_CODES.terminated };
/** Under npm, Ctrl+C sends SIGINT twice: from the terminal, and a few milliseconds later from npm. */
const REPEAT_MS = 1000;
/** At the end Node removes its signal handlers, and npm's signal would then kill the process. So the process waits for it. */
const KEEP_ALIVE_MS = 100;

/** Aborts on the first signal that asks the process to stop. A signal more than a second later calls `exit`. */
export function stopOnSignals(exit: (code: number) => void): AbortSignal {
  const stop = new AbortController();
  let stoppedAt = 0;
  for (const [signal, code] of Object.entries(SIGNALS))
    process.on(signal, () => {
      if (!stop.signal.aborted) {
        stoppedAt = performance.now();
        setTimeout(() => undefined, KEEP_ALIVE_MS);
        stop.abort(new ExitCode(code));
      } else if (performance.now() - stoppedAt >= REPEAT_MS) {
        exit(code);
      }
    });
  return stop.signal;
}
