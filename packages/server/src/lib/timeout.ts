/** Timeouts of replies from a database or another service. */

export class NoReplyError extends Error {
  constructor(timeoutMs: number) {
    super(`no reply within ${timeoutMs} ms`);
  }
}

/** Rejects if the work takes longer. */
export function withTimeout<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = new InactivityTimer(() => reject(new NoReplyError(timeoutMs)));
    timer.restart(timeoutMs);
    work.then(resolve, reject).finally(() => timer.stop());
  });
}

/** At most so long. Does not reject: what is late or has failed is not waited for. */
export const waitFor = (timeoutMs: number, work: Promise<unknown>): Promise<void> =>
  withTimeout(timeoutMs, work).then(
    () => undefined,
    () => undefined,
  );

/**
 * Calls back after a time without a restart. `setImmediate` lets the event loop read its sockets before that: after this process
 * was blocked or had no processor, a reply may have arrived already.
 */
export class InactivityTimer {
  readonly #onTimeout: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(onTimeout: () => void) {
    this.#onTimeout = onTimeout;
  }

  restart(timeoutMs: number): void {
    this.stop();
    const timer = setTimeout(() => setImmediate(() => this.#timer === timer && this.#onTimeout()), timeoutMs);
    this.#timer = timer;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
