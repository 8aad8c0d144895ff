import type { Clock } from '../clock.ts';
import type { Output } from './context.ts';
import { widthOf } from './output.ts';

const REDRAW_MS = 100;
const MIN_BAR_COLUMNS = 10;
const CLEAR_LINE = '\r\u001b[K';

export interface Progress {
  /** From 0 to 1; absent when nobody knows how much there is. */
  readonly share?: number;
  readonly count: number;
  readonly rejected?: number;
}

const shown = (value: number): string => Math.round(value).toLocaleString('en');

/** `3:07`, or `2:03:07` from an hour on. */
function duration(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  const two = (value: number) => String(value % 60).padStart(2, '0');
  const minutes = Math.floor(seconds / 60);
  const whole = minutes < 60 ? String(minutes) : `${Math.floor(minutes / 60)}:${two(minutes)}`;
  return `${whole}:${two(seconds)}`;
}

function words({ share, count, rejected = 0 }: Progress, unit: string, elapsedMs: number): string {
  const parts = [`${shown(count)} ${unit}`];
  if (elapsedMs > 0) parts.push(`${shown((count / elapsedMs) * 1000)}/s`);
  if (rejected > 0) parts.push(`${shown(rejected)} rejected`);
  if (share !== undefined && share > 0) parts.push(`${duration((elapsedMs * (1 - share)) / share)} left`);
  return parts.join('  ');
}

function line(progress: Progress, text: string, columns: number): string {
  if (progress.share === undefined) return text.slice(0, columns);
  const percent = `${Math.floor(progress.share * 100)}%`.padStart(4);
  const width = Math.min(columns - text.length - percent.length - 5, 40);
  if (width < MIN_BAR_COLUMNS) return `${percent}  ${text}`.slice(0, columns);
  const filled = Math.round(progress.share * width);
  return `[${'#'.repeat(filled)}${'-'.repeat(width - filled)}] ${percent}  ${text}`;
}

/** One line at the bottom of a terminal, redrawn in place. Says nothing where there is no terminal. */
export class ProgressBar {
  readonly #out: Output;
  readonly #clock: Clock;
  readonly #unit: string;
  readonly #startedAt: number;
  #drawnAt = Number.NEGATIVE_INFINITY;
  #drawn = false;

  /** The unit is what is counted: `lines`. */
  constructor(out: Output, clock: Clock, unit: string) {
    this.#out = out;
    this.#clock = clock;
    this.#unit = unit;
    this.#startedAt = clock();
  }

  update(progress: Progress): void {
    const now = this.#clock();
    if (!this.#out.isTTY || now - this.#drawnAt < REDRAW_MS) return;
    // The last column stays free, because some terminals wrap when it is written.
    const columns = widthOf(this.#out) - 1;
    const text = words(progress, this.#unit, now - this.#startedAt);
    this.#out.write(`${CLEAR_LINE}${line(progress, text, columns)}`);
    this.#drawnAt = now;
    this.#drawn = true;
  }

  /** Makes room for other words. The next update draws the bar below them. */
  clear(): void {
    if (this.#drawn) this.#out.write(CLEAR_LINE);
    this.#drawn = false;
  }
}
