/** Horizontal bars side by side, legible on a light and on a dark page. */
export interface Bar {
  readonly label: string;
  readonly value: number;
  /** Printed after the value. */
  readonly note: string;
  readonly color: string;
}

export interface Panel {
  readonly title: string;
  readonly bars: readonly Bar[];
}

const WIDTH = 920;
const LABELS = 220;
const NOTES = 140;
const GAP = 24;
const TOP = 94;
const STEP = 34;
const BAR = 22;

const baseline = (row: number): number => TOP + row * STEP + BAR / 2 + 4.5;
const text = (x: number, y: number, content: string, attributes = ''): string =>
  `<text x="${x}" y="${y}" ${attributes}>${content}</text>`;

/** The panels share the labels of their bars. The texts contain no characters that XML reserves. */
export function renderPicture(title: string, subtitle: string, panels: readonly Panel[]): string {
  const labels = panels[0]?.bars.map(({ label }) => label) ?? [];
  const height = TOP + labels.length * STEP + 14;
  const width = (WIDTH - LABELS - GAP * panels.length) / panels.length;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${title}">
<style>
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328; }
  .title { font-size: 16px; font-weight: 600; }
  .quiet { fill: #59636e; }
  .strong { font-weight: 600; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .quiet { fill: #9198a1; }
  }
</style>
${text(10, 24, title, 'class="title"')}
${text(10, 44, subtitle, 'class="quiet"')}
${labels.map((label, row) => text(LABELS - 10, baseline(row), label, 'text-anchor="end"')).join('\n')}
${panels.map((panel, n) => renderPanel(panel, LABELS + n * (width + GAP), width)).join('\n')}
</svg>
`;
}

function renderPanel({ title, bars }: Panel, left: number, width: number): string {
  const largest = Math.max(...bars.map(({ value }) => value));
  const rows = bars.map(({ value, note, color }, row) => {
    const length = Math.round(Math.max(2, (value / largest) * (width - NOTES)));
    const figure = `<tspan class="strong">${Math.round(value).toLocaleString('en')}</tspan> <tspan class="quiet">${note}</tspan>`;
    return `<rect x="${left}" y="${TOP + row * STEP}" width="${length}" height="${BAR}" rx="3" fill="${color}"/>
${text(left + length + 8, baseline(row), figure)}`;
  });
  return [text(left, TOP - 16, title, 'class="strong"'), ...rows].join('\n');
}
