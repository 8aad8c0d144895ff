const PART_MS = 10;

/**
 * Measures how long nothing came, in small parts, and after each of them Node reads its sockets before the next one
 * begins. So the time when this process was busy, or waited for a processor as all do on a machine under load, hardly
 * counts, and what came meanwhile is seen before it is missed.
 */
export class InactivityTimer {
  readonly #limitMs: number;
  readonly #onEnd: () => void;
  #leftMs = 0;
  #part: NodeJS.Timeout | undefined;

  constructor(limitMs: number, onEnd: () => void) {
    this.#limitMs = limitMs;
    this.#onEnd = onEnd;
  }

  /** From the beginning, whether it runs or not. */
  restart(): void {
    this.#leftMs = this.#limitMs;
    if (this.#part === undefined) this.#wait();
  }

  stop(): void {
    clearTimeout(this.#part);
    this.#part = undefined;
  }

  #wait(): void {
    const part = setTimeout(() => setImmediate(() => this.#pass(part)), PART_MS);
    this.#part = part;
  }

  #pass(part: NodeJS.Timeout): void {
    // Stopped since.
    if (part !== this.#part) return;
    this.#leftMs -= PART_MS;
    this.#part = undefined;
    if (this.#leftMs > 0) this.#wait();
    else this.#onEnd();
  }
}
