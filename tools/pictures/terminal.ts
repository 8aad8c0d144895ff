/** Draws what a program has printed to a terminal as an SVG, which follows the theme of the reader. */

/** The parameters of the escape sequences that the demo uses, as CSS classes. */
const CLASSES: Readonly<Record<string, string>> = { '1': 'bold', '2': 'dim', '33': 'yellow', '36': 'cyan' };
const ESCAPE = String.fromCharCode(27);
const SEQUENCE = new RegExp(`${ESCAPE}\\[(\\d+)m`);

const COLUMNS = 100;
const CHARACTER_WIDTH = 8.4;
const LINE_HEIGHT = 20;
const PADDING = 20;
const BAR_HEIGHT = 32;

const STYLE = `
.window { fill: #fff; stroke: #dce4e8 }
.bar { fill: #f5f8f9 }
.knob { fill: #dce4e8 }
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; fill: #16222c; white-space: pre }
.bold { font-weight: 700 }
.dim { fill: #51616d }
.cyan { fill: #0b6a7b }
.yellow { fill: #744a00 }
@media (prefers-color-scheme: dark) {
  .window { fill: #10181e; stroke: #2b3a45 }
  .bar { fill: #17222a }
  .knob { fill: #2b3a45 }
  text { fill: #e2eaef }
  .dim { fill: #9fb0bb }
  .cyan { fill: #5cc8da }
  .yellow { fill: #f2c877 }
}
`;

const escapeXml = (text: string): string =>
  text.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);

interface Piece {
  readonly text: string;
  readonly className: string;
}

/** A line as pieces of one style each. */
function readPieces(line: string): Piece[] {
  const pieces: Piece[] = [];
  let className = '';
  // The pattern has a group, so every second part is a parameter.
  for (const [index, part] of line.split(SEQUENCE).entries()) {
    if (index % 2 === 1) className = CLASSES[part] ?? '';
    else if (part !== '') pieces.push({ text: part, className });
  }
  return pieces;
}

/** Cuts a line where a terminal would break it. */
function cut(pieces: readonly Piece[]): Piece[] {
  const kept: Piece[] = [];
  let room = COLUMNS;
  for (const { text, className } of pieces) {
    if (room <= 0) break;
    kept.push({ text: text.length > room ? `${text.slice(0, room - 1)}…` : text, className });
    room -= text.length;
  }
  return kept;
}

function drawLine(line: string, index: number): string {
  const y = BAR_HEIGHT + PADDING + LINE_HEIGHT * (index + 0.5);
  const spans = cut(readPieces(line)).map(({ text, className }) => {
    const content = escapeXml(text);
    return className === '' ? content : `<tspan class="${className}">${content}</tspan>`;
  });
  return spans.length === 0
    ? ''
    : `<text x="${PADDING}" y="${y}" xml:space="preserve">${spans.join('')}</text>\n`;
}

export function drawTerminal(title: string, lines: readonly string[]): string {
  const width = Math.round(2 * PADDING + COLUMNS * CHARACTER_WIDTH);
  const height = BAR_HEIGHT + 2 * PADDING + lines.length * LINE_HEIGHT;
  const knobs = [16, 34, 52].map((x) => `<circle class="knob" cx="${x}" cy="${BAR_HEIGHT / 2}" r="6"/>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img">
<title>${escapeXml(title)}</title>
<style>${STYLE}</style>
<clipPath id="round"><rect width="${width}" height="${height}" rx="10"/></clipPath>
<g clip-path="url(#round)">
<rect class="window" width="${width}" height="${height}" rx="10"/>
<rect class="bar" width="${width}" height="${BAR_HEIGHT}"/>
${knobs.join('')}
</g>
${lines.map(drawLine).join('')}</svg>
`;
}
