/** Markup that needs no escaping. */
export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

type Part = Html | readonly Html[] | string | number;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');

function markupOf(part: Part): string {
  if (part instanceof Html) return part.markup;
  if (typeof part === 'object') return part.map(markupOf).join('');
  return escapeHtml(String(part));
}

/** A template that escapes its values, except markup. */
export function html(literals: TemplateStringsArray, ...values: readonly Part[]): Html {
  const parts = values.map((value, index) => markupOf(value) + (literals[index + 1] ?? ''));
  return new Html((literals[0] ?? '') + parts.join(''));
}

/** A sentence whose `code spans` are marked with backticks, as in the API description. */
export function prose(text: string): Html {
  const pieces = text.split('`');
  return html`${pieces.map((piece, index) => (index % 2 === 1 ? html`<code>${piece}</code>` : html`${piece}`))}`;
}

/** A block of code that can be scrolled with the keyboard. Comments are less prominent. */
export function codeBlock(code: string): Html {
  const pieces = code.split(/(\/\/ .*)/);
  const marked = pieces.map((piece, index) => (index % 2 === 1 ? html`<i>${piece}</i>` : html`${piece}`));
  return html`<pre tabindex="0"><code>${marked}</code></pre>`;
}

export interface Table {
  /** `fields`: name, meaning and example. `plain`: columns of equal width. */
  readonly kind: 'fields' | 'plain';
  readonly caption: string;
  readonly columns: readonly string[];
  /** A cell for each column; the first is the row's header. */
  readonly rows: readonly (readonly Html[])[];
}

/**
 * Narrow screens show rows as blocks. Some browsers then drop the table semantics, so the roles repeat them; `data-label` is the
 * column's name there.
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

/** The first cell of a `fields` row: a name, and its type below. */
export const named = (name: string, kind: string): Html =>
  html`<code>${name}</code> <span class="kind">${kind}</span>`;
