/** The part of a pino logger that is used. Lines have the host of a URL: the whole one is a secret. */
export interface SenderLog {
  warn(line: object, message: string): void;
  info(line: object, message: string): void;
}

/** While the database fails, no request begins: its result could not be stored. Only the first error is logged. */
export class Outage {
  readonly #log: SenderLog;
  isOngoing = false;

  constructor(log: SenderLog) {
    this.#log = log;
  }

  begin(error: unknown): void {
    if (!this.isOngoing) this.#log.warn({ err: error }, 'webhook subscriptions could not be read or stored');
    this.isOngoing = true;
  }

  /** Only a claim shows that the database answers again. */
  end(): void {
    this.isOngoing = false;
  }
}
