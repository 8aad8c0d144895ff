import { type Html, html } from './html.ts';

export interface Table {
  /** `fields`: a named thing, its meaning and an example. `plain`: columns of equal weight. */
  readonly kind: 'fields' | 'plain';
  readonly caption: string;
  readonly columns: readonly string[];
  /** A cell for each column; the first names the row. */
  readonly rows: readonly (readonly Html[])[];
}

/**
 * The roles repeat what the elements mean because narrow screens show rows as blocks, and some browsers then
 * forget that they are rows. `data-label` is the column's name there.
 */
export function table({ kind, caption, columns, rows }: Table): Html {
  return html`<table role="table" class="${kind}">
<caption>${caption}</caption>
<thead role="rowgroup"><tr role="row">${columns.map((column) => html`<th role="columnheader" scope="col">${column}</th>`)}</tr></thead>
<tbody role="rowgroup">
${rows.map((cells) => html`<tr role="row">${cells.map((cell, index) => tableCell(cell, columns[index] ?? '', index))}</tr>\n`)}</tbody>
</table>`;
}

function tableCell(content: Html, column: string, index: number): Html {
  if (index === 0) return html`<th role="rowheader" scope="row">${content}</th>`;
  return html`<td role="cell" data-label="${column}">${content}</td>`;
}

/** The first cell of a `fields` row: a name in the code, and below it what kind of thing it is. */
export const named = (name: string, kind: string): Html =>
  html`<code>${name}</code> <span class="kind">${kind}</span>`;
