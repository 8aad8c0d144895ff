import { type Logger, pino } from 'pino';
import { isUnavailability } from '../http/problems.ts';
import { toIso } from '../lib/clock.ts';

export type { Logger };

const serializers = {
  /**
   * Without a stack if the database or the identity provider is unavailable: the message says why. Without the fields in which
   * PostgreSQL quotes the row or the value that it refused: they contain lead data.
   */
  err: (error: unknown) => {
    if (!(error instanceof Error)) return error;
    const { stack, detail: _row, where: _value, ...fields } = pino.stdSerializers.err(error);
    return isUnavailability(error) ? fields : { ...fields, stack };
  },
};

/** The level as a word. Pino calls this once for each level, not for each line. */
const formatters = { level: (level: string) => ({ level }) };

/** Pino's `isoTime`, formatted once a millisecond: under load, ten lines have the same time. */
function createTimestamp(): () => string {
  let last = { at: Number.NaN, text: '' };
  return () => {
    const at = Date.now();
    if (at !== last.at) last = { at, text: `,"time":"${toIso(at)}"` };
    return last.text;
  };
}

/** Logs JSON lines. `http/exchange.ts` defines the line of a request. */
export const makeLogger = (level: string, destination: { write(line: string): void }): Logger =>
  pino({ level, base: null, timestamp: createTimestamp(), serializers, formatters }, destination);

/** A write takes as long as the rest of a poll's log line, so lines are collected: this many characters, or for this long. */
const MIN_WRITE_LENGTH = 4096;
const MAX_DELAY_MS = 100;

/** Collects lines for one write to the stream. Pino's own buffer does not end when the disk is full at exit. */
export class LineBuffer {
  readonly #output: { write(lines: string): void };
  #lines = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(output: { write(lines: string): void }) {
    this.#output = output;
  }

  write(line: string): void {
    this.#lines += line;
    if (this.#lines.length >= MIN_WRITE_LENGTH) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), MAX_DELAY_MS).unref();
  }

  /** Also to be called when the process exits. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#lines !== '') this.#output.write(this.#lines);
    this.#lines = '';
  }
}
