import { MAX_LEADS_PER_PAGE } from '@leadtap/contract';
import { codeBlock, type Html, html, prose } from './html.ts';
import { type Recipe, recipes } from './recipes.ts';
import { table } from './table.ts';

const ORDER = [
  [
    'without `since`',
    'the newest leads, newest first',
    'Zapier and others that drop duplicates by id; samples in an editor',
  ],
  [
    'with `since`',
    'the leads that directly follow it, oldest first',
    'everything that pages forward and may stop after any lead',
  ],
] as const;

function recipeMarkup({ title, use, code }: Recipe, index: number): Html {
  return html`<h3 id="recipe-${index + 1}">${index + 1}. ${prose(title)}</h3>
<p>${prose(use)}</p>
${codeBlock(code)}
`;
}

export function pollingSection(endpoint: string): Html {
  return html`<section aria-labelledby="polling">
<h2 id="polling">Poll without losing a lead</h2>
<p>${prose(`Poll every 2 minutes. While a page is full (${MAX_LEADS_PER_PAGE} leads), poll again at once. When a request fails, change nothing and send it again: a lead waits until you have asked for it. The same lead always has the same \`automation_trigger_id\`.`)}</p>
${table({
  kind: 'plain',
  caption: 'Which leads, in which order',
  columns: ['Request', 'Answer', 'For'],
  rows: ORDER.map((cells) => cells.map(prose)),
})}
<p>Three ways to remember where you are. Each loses nothing; take the one that suits your platform.</p>
${recipes(endpoint).map(recipeMarkup)}</section>`;
}
