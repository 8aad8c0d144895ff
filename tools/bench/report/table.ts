export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** What a reader must know to read it rightly. */
  readonly note?: string;
}

/** For a terminal: the first column is on the left, figures are on the right. */
export function renderTable({ title, columns, rows, note }: Table): string {
  const lines = [columns, ...rows];
  const widths = columns.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const render = (line: readonly string[]) =>
    widths
      .map((width, column) => {
        const cell = line[column] ?? '';
        return column === 0 ? cell.padEnd(width) : cell.padStart(width);
      })
      .join('  ')
      .replace(/\s+$/, '');
  const rule = widths.map((width) => '-'.repeat(width)).join('  ');
  const [head = [], ...body] = lines;
  return [title, '', render(head), rule, ...body.map(render), ...(note ? ['', note] : [])].join('\n');
}
