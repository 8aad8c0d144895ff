/** HTML from template strings. Every value is escaped, so that the names of tokens and users cannot add markup. */
import { escapeHtml } from '../lib/escape.ts';

/** Markup that needs no escaping. */
export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

type Part = Html | readonly Html[] | string | number;

function markupOf(part: Part): string {
  if (part instanceof Html) return part.markup;
  if (typeof part === 'object') return part.map(markupOf).join('');
  return escapeHtml(String(part));
}

/** Values are text or attribute values in double quotes. */
export function html(literals: TemplateStringsArray, ...values: readonly Part[]): Html {
  const parts = values.map((value, index) => markupOf(value) + (literals[index + 1] ?? ''));
  return new Html((literals[0] ?? '') + parts.join(''));
}

export const NO_HTML = new Html('');
