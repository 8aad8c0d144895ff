import type { Clock } from '../clock.ts';
import { formatNumber } from '../leads/field-readers.ts';
import { type Output, widthOf } from './output.ts';

const REDRAW_MS = 100;
const MIN_BAR_COLUMNS = 10;
const MAX_BAR_COLUMNS = 40;
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
    this.#out.write(`${CLEAR_LINE}${drawBar(progress.share, text, widthOf(this.#out) - 1)}`);
    this.#drawnAt = now;
    this.#isDrawn = true;
  }

  /** Removes the bar before other text is printed. The next update draws it again. */
  clear(): void {
    if (this.#isDrawn) this.#out.write(CLEAR_LINE);
    this.#isDrawn = false;
  }
}

function drawBar(share: number | undefined, text: string, columns: number): string {
  if (share === undefined) return text.slice(0, columns);
  const percent = `${Math.floor(share * 100)}%`.padStart(4);
  const width = Math.min(columns - text.length - percent.length - 5, MAX_BAR_COLUMNS);
  if (width < MIN_BAR_COLUMNS) return `${percent}  ${text}`.slice(0, columns);
  const filled = Math.round(share * width);
  return `[${'#'.repeat(filled)}${'-'.repeat(width - filled)}] ${percent}  ${text}`;
}

function describeProgress({ share, count, rejected = 0 }: Progress, unit: string, elapsedMs: number): string {
  const parts = [`${formatNumber(Math.round(count))} ${count === 1 ? toSingular(unit) : unit}`];
  if (elapsedMs > 0) parts.push(`${formatNumber(Math.round((count / elapsedMs) * 1000))}/s`);
  if (rejected > 0) parts.push(`${formatNumber(rejected)} rejected`);
  if (share !== undefined && share > 0)
    parts.push(`${formatDuration((elapsedMs * (1 - share)) / share)} left`);
  return parts.join('  ');
}

/** `leads erased` becomes `lead erased`. */
const toSingular = (unit: string): string => unit.replace(/^(\w+)s\b/, '$1');

/** `3:07`, or `2:03:07` from one hour. */
function formatDuration(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const twoDigits = (value: number) => String(value % 60).padStart(2, '0');
  const start = minutes < 60 ? String(minutes) : `${Math.floor(minutes / 60)}:${twoDigits(minutes)}`;
  return `${start}:${twoDigits(seconds)}`;
}
