/** Markup that may be sent as it is. */
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

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');

function markupOf(part: Part): string {
  if (part instanceof Html) return part.markup;
  if (typeof part === 'object') return part.map(markupOf).join('');
  return escaped(String(part));
}

/** A template whose values are escaped unless they are markup already. */
export function html(literals: TemplateStringsArray, ...values: readonly Part[]): Html {
  const parts = values.map((value, index) => markupOf(value) + (literals[index + 1] ?? ''));
  return new Html((literals[0] ?? '') + parts.join(''));
}

/** A sentence whose `code spans` are marked with backticks, as in the API description. */
export function prose(text: string): Html {
  const pieces = text.split('`');
  return html`${pieces.map((piece, index) => (index % 2 === 1 ? html`<code>${piece}</code>` : html`${piece}`))}`;
}

/** A block of code that can be scrolled with the keyboard. Comments step back. */
export function codeBlock(code: string): Html {
  const pieces = code.split(/(\/\/ .*)/);
  const marked = pieces.map((piece, index) => (index % 2 === 1 ? html`<i>${piece}</i>` : html`${piece}`));
  return html`<pre tabindex="0"><code>${marked}</code></pre>`;
}
