import { formatCount } from '@leadtap/contract';
import type { Clock } from '../lib/clock.ts';
import { formatDuration } from '../lib/formats.ts';
import { type Output, widthOf } from './output.ts';

const REDRAW_MS = 100;
const CLEAR_LINE = '\r\u001b[K';

export interface Progress {
  /** From 0 to 1. Absent if the total is unknown. */
  readonly share?: number;
  readonly count: number;
  readonly rejected?: number;
}

/** One line at the bottom of a terminal, redrawn in place. Without a terminal it prints nothing. */
export class ProgressBar {
  readonly #out: Output;
  readonly #clock: Clock;
  readonly #unit: string;
  readonly #startedAt: number;
  #drawnAt = Number.NEGATIVE_INFINITY;
  #isDrawn = false;

  /** The unit is what is counted, such as `lines`. */
  constructor(out: Output, clock: Clock, unit: string) {
    this.#out = out;
    this.#clock = clock;
    this.#unit = unit;
    this.#startedAt = clock();
  }

  update(progress: Progress): void {
    const now = this.#clock();
    if (!this.#out.isTTY || now - this.#drawnAt < REDRAW_MS) return;
    const text = describeProgress(progress, this.#unit, now - this.#startedAt);
    // The last column stays free, because some terminals wrap when it is written.
    this.#out.write(`${CLEAR_LINE}${text.slice(0, widthOf(this.#out) - 1)}`);
    this.#drawnAt = now;
    this.#isDrawn = true;
  }

  /** Removes the line before other text is printed. The next update draws it again. */
  clear(): void {
    if (this.#isDrawn) this.#out.write(CLEAR_LINE);
    this.#isDrawn = false;
  }
}

/** `25%  1,000 lines  500/s  2 rejected  6 s left` */
function describeProgress({ share, count, rejected = 0 }: Progress, unit: string, elapsedMs: number): string {
  const parts = [`${formatCount(Math.round(count))} ${unit}`];
  if (share !== undefined) parts.unshift(`${Math.floor(share * 100)}%`);
  if (elapsedMs > 0) parts.push(`${formatCount(Math.round((count / elapsedMs) * 1000))}/s`);
  if (rejected > 0) parts.push(`${formatCount(rejected)} rejected`);
  if (share) parts.push(`${formatDuration((elapsedMs * (1 - share)) / share / 1000)} left`);
  return parts.join('  ');
}
