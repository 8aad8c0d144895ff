/** A picture of horizontal bars, legible on a light and on a dark page. */

export interface Bar {
  readonly label: string;
  readonly value: number;
  /** Written behind the bar, after its value. */
  readonly note: string;
  readonly color: 'limit' | 'ours' | 'other';
}

export interface Panel {
  readonly title: string;
  readonly bars: readonly Bar[];
}

const WIDTH = 920;
const LABELS = 205;
const NOTES = 140;
const GAP = 24;
const TOP = 64;
const BAR = 22;
const STEP = 34;
const PANEL_TITLE = 30;

/** Chosen to stand out from white and from nearly black. */
const COLORS = { limit: '#8b949e', ours: '#2f81f7', other: '#d29922' };

const escaped = (text: string): string =>
  text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');

const text = (x: number, y: number, content: string, attributes = ''): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${attributes}>${escaped(content)}</text>`;

/** The panels side by side share the labels of their bars. */
export function renderPlot(title: string, subtitle: string, panels: readonly Panel[]): string {
  const rows = Math.max(...panels.map(({ bars }) => bars.length));
  const height = TOP + PANEL_TITLE + rows * STEP + 14;
  const width = (WIDTH - LABELS - GAP * panels.length) / panels.length;
  const labels = (panels[0]?.bars ?? []).map(({ label }, row) =>
    text(LABELS - 10, middle(row), label, 'text-anchor="end"'),
  );
  const drawn = panels.map((panel, n) => drawPanel(panel, LABELS + n * (width + GAP), width));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escaped(title)}">
<style>
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328; }
  .title { font-size: 16px; font-weight: 600; }
  .quiet { fill: #59636e; }
  .panel { font-weight: 600; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .quiet { fill: #9198a1; }
  }
</style>
${text(10, 24, title, 'class="title"')}
${text(10, 44, subtitle, 'class="quiet"')}
${labels.join('\n')}
${drawn.join('\n')}
</svg>
`;
}

const middle = (row: number): number => TOP + PANEL_TITLE + row * STEP + BAR / 2 + 4.5;

function drawPanel({ title, bars }: Panel, left: number, width: number): string {
  const most = Math.max(...bars.map(({ value }) => value));
  const parts = bars.map(({ value, note, color }, row) => {
    const length = Math.max(2, (value / most) * (width - NOTES));
    const y = TOP + PANEL_TITLE + row * STEP;
    const bar = `<rect x="${left}" y="${y}" width="${length.toFixed(1)}" height="${BAR}" rx="3" fill="${COLORS[color]}"/>`;
    const figure = `<tspan font-weight="600">${Math.round(value).toLocaleString('en')}</tspan>`;
    const behind = `<text x="${(left + length + 8).toFixed(1)}" y="${middle(row)}">${figure} <tspan class="quiet">${escaped(note)}</tspan></text>`;
    return `${bar}\n${behind}`;
  });
  return [text(left, TOP + 14, title, 'class="panel"'), ...parts].join('\n');
}
