/**
 * The plots of the status page, as inline SVG. They are stretched to the width of their place, so they contain no text. status.js shows
 * the values of `data-values` (of each series, one for each step) at the pointer.
 */
import { toIso } from '../clock.ts';
import { formatClock, formatValue } from './formats.ts';
import { type Html, html, NO_HTML } from './html.ts';

export type Values = readonly (number | null)[];

export interface PlotSeries {
  /** A class of status.css, which has its colour. */
  readonly kind: 'main' | 'amber' | 'grey' | 'red';
  /** Named in the legend if there are several. */
  readonly name: string;
  readonly values: Values;
}

export interface Plot {
  readonly title: string;
  readonly unit: string;
  /** `steps` draws a line, for rates and durations; `bars` adds the series up, for counts. */
  readonly shape: 'steps' | 'bars';
  readonly series: readonly PlotSeries[];
  /** Of the first step, in milliseconds. */
  readonly from: number;
  readonly stepMs: number;
  /** The large figure above the plot. */
  readonly figure: string;
  /** Shown instead of the plot if there are no values. */
  readonly empty: string;
}

const HOUR_MS = 3_600_000;
const WIDTH = 240;
const HEIGHT = 60;

export function renderPlot(plot: Plot): Html {
  const { title, figure, unit, series, empty } = plot;
  const steps = series[0]?.values.length ?? 0;
  const tops = Array.from({ length: steps }, (_, step) => sumAt(series, step));
  const known = tops.filter((value) => value !== null);
  const highest = Math.max(0, ...known);
  const heading = html`<figcaption><span class="plot-title">${title}</span> <span class="figure">${figure}</span></figcaption>`;
  if (known.length === 0) return html`<figure class="plot">${heading}<p class="empty">${empty}</p></figure>`;
  const top = ceiling(highest);
  const hasDay = steps * plot.stepMs > HOUR_MS;
  const middle = plot.from + (steps / 2) * plot.stepMs;
  const label = `${title}: ${figure}; highest ${formatValue(highest)}${unit}`;
  return html`<figure class="plot" data-key="${title}">${heading}
<p class="scale" aria-hidden="true">${formatValue(top)}${unit}</p>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${label}"${dataOf(plot)}><path class="grid" d="M0 .5H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT - 0.5}H${WIDTH}"/>${plot.shape === 'steps' ? stepPaths(plot, top) : barPaths(plot, top)}</svg>
<p class="axis" aria-hidden="true"><span>${timeOnAxis(plot.from, hasDay)} UTC</span>${timeOnAxis(middle, hasDay)}<span>now</span></p>
${legend(series)}</figure>`;
}

const timeOnAxis = (ms: number, hasDay: boolean): Html =>
  html`<time datetime="${toIso(ms)}">${formatClock(ms, hasDay)}</time>`;

/** For status.js. A value that is not known is empty. */
const dataOf = ({ from, stepMs, unit, series }: Pick<Plot, 'from' | 'stepMs' | 'unit' | 'series'>): Html =>
  html` data-from="${from}" data-step="${stepMs}" data-unit="${unit}" data-names="${series.map(({ name }) => name).join('|')}" data-values="${series.map(({ values }) => values.join()).join('|')}"`;

/** Null if no series has a value in this step. */
function sumAt(series: readonly PlotSeries[], step: number): number | null {
  const values = series.map(({ values: all }) => all[step] ?? null).filter((value) => value !== null);
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0);
}

/** The next of 1, 2, 5, 10, 20, … */
function ceiling(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 5].find((candidate) => candidate * power >= value) ?? 10;
  return factor * power;
}

/** A tenth of a unit is finer than a pixel. */
const at = (coordinate: number): number => Math.round(coordinate * 10) / 10;
const heightOf = (value: number, top: number): number => at(HEIGHT - 1 - ((HEIGHT - 2) * value) / top);

/** Each step is a horizontal line, so that a value between two gaps is visible. */
function stepPaths({ series }: Plot, top: number): Html[] {
  return series.map(({ kind, values }) => {
    const width = WIDTH / values.length;
    let line = '';
    let area = '';
    values.forEach((value, step) => {
      if (value === null) return;
      const left = at(step * width);
      const right = at((step + 1) * width);
      const y = heightOf(value, top);
      const isConnected = step > 0 && values[step - 1] !== null;
      line += isConnected ? `V${y}H${right}` : `M${left} ${y}H${right}`;
      area += `M${left} ${HEIGHT}V${y}H${right}V${HEIGHT}`;
    });
    return html`<path class="area ${kind}" d="${area}"/><path class="line ${kind}" d="${line}"/>`;
  });
}

/** The series of a step are stacked. */
function barPaths({ series }: Plot, top: number): Html[] {
  const bottoms = new Map<number, number>();
  return series.map(({ kind, values }) => {
    const width = WIDTH / values.length;
    const gap = width * 0.2;
    let path = '';
    values.forEach((value, step) => {
      if (value === null || value <= 0) return;
      const below = bottoms.get(step) ?? 0;
      bottoms.set(step, below + value);
      const left = at(step * width + gap / 2);
      path += `M${left} ${heightOf(below, top)}V${heightOf(below + value, top)}H${at(left + width - gap)}V${heightOf(below, top)}Z`;
    });
    return html`<path class="bar ${kind}" d="${path}"/>`;
  });
}

function legend(series: readonly PlotSeries[]): Html {
  if (series.length < 2) return NO_HTML;
  const entries = series.map(({ kind, name, values }) => {
    const total = values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
    return html`<li class="${kind}">${name}: ${formatValue(total)}</li>`;
  });
  return html`<ul class="legend">${entries}</ul>`;
}

const BARS_WIDTH = 96;
const BARS_HEIGHT = 20;

/** A row of small bars, one for each hour, the current hour last. An hour without polls has a dot on the base line. */
export function renderHourBars(counts: readonly number[], now: number): Html {
  const highest = Math.max(1, ...counts);
  const width = BARS_WIDTH / counts.length;
  let bars = '';
  let gaps = '';
  counts.forEach((count, hour) => {
    const left = at(hour * width);
    const height = count === 0 ? 1.5 : at(3 + ((BARS_HEIGHT - 3) * count) / highest);
    const bar = `M${left} ${BARS_HEIGHT}v-${height}h${at(width - 1)}v${height}z`;
    if (count === 0) gaps += bar;
    else bars += bar;
  });
  const total = counts.reduce((sum, count) => sum + count, 0);
  const label = `Polls at this instance in 24 hours: ${formatValue(total)}, at most ${formatValue(Math.max(0, ...counts))} in an hour`;
  const from = (Math.floor(now / HOUR_MS) + 1 - counts.length) * HOUR_MS;
  const data = dataOf({
    from,
    stepMs: HOUR_MS,
    unit: '',
    series: [{ kind: 'main', name: 'polls', values: counts }],
  });
  return html`<svg class="hours" viewBox="0 0 ${BARS_WIDTH} ${BARS_HEIGHT}" role="img" aria-label="${label}"${data}><title>${label}</title><path class="gap" d="${gaps}"/><path class="bar main" d="${bars}"/></svg>`;
}
