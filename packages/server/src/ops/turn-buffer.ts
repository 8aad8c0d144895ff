/** Where lines go. */
export interface LineSink {
  write(lines: string): unknown;
}

/**
 * Joins the lines that are written in one turn of the event loop: a busy service writes dozens in each, and a system call
 * for every one of them costs as much as the poll that it tells of. Nothing waits longer than a turn.
 */
export class TurnBuffer implements LineSink {
  readonly #sink: LineSink;
  #lines = '';

  constructor(sink: LineSink) {
    this.#sink = sink;
  }

  write(line: string): void {
    if (this.#lines === '') setImmediate(() => this.flush());
    this.#lines += line;
  }

  flush(): void {
    const lines = this.#lines;
    this.#lines = '';
    if (lines !== '') this.#sink.write(lines);
  }
}
