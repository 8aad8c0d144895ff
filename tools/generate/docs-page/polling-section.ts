import { MAX_LEADS_PER_PAGE } from '@leadtap/contract';
import { codeBlock, type Html, html, prose, table } from './html.ts';

/** A way to poll without losing leads. A test runs the code. */
interface Recipe {
  readonly title: string;
  readonly use: string;
  readonly code: string;
}

const START = '2026-03-02T09:30:00.000Z';

const followLink = (endpoint: string): Recipe => ({
  title: 'Follow the link',
  use: 'The simplest way. Every response has the URL of the next poll in its `Link` header. Store only that URL.',
  code: `let next = '${endpoint}?since=${START}';

async function poll() {
  const response = await fetch(next, { headers: { Authorization: \`Bearer \${token}\` } });
  if (!response.ok) return; // the next poll sends the same request
  for (const lead of await response.json()) await handle(lead);
  next = response.headers.get('link').match(/<(.+)>/)[1]; // store it
}`,
});

const lastCreatedAt = (endpoint: string): Recipe => ({
  title: 'Remember the last `createdAt`',
  use: 'For platforms that store a cursor. Leads come oldest first and no two of a company share a `createdAt`, so you may stop after any lead and continue from there.',
  code: `let since = '${START}';

async function poll() {
  const response = await fetch(\`${endpoint}?since=\${since}\`, {
    headers: { Authorization: \`Bearer \${token}\` },
  });
  if (!response.ok) return; // the next poll sends the same request
  for (const lead of await response.json()) {
    await handle(lead);
    since = lead.createdAt; // store it
  }
}`,
});

const dateOfAnswer = (endpoint: string): Recipe => ({
  title: 'Use the `Date` of the response',
  use: 'For platforms that remember when they last polled. Take the time from the response, never from your own clock. `Date` is truncated to the second, so a lead may come twice: drop it by `automation_trigger_id`.',
  code: `let since = '${START}';
const seen = new Set(); // of automation_trigger_id

async function poll() {
  const response = await fetch(\`${endpoint}?since=\${since}\`, {
    headers: { Authorization: \`Bearer \${token}\` },
  });
  if (!response.ok) return; // the next poll sends the same request
  const leads = await response.json();
  for (const lead of leads) {
    if (!seen.has(lead.automation_trigger_id)) await handle(lead);
    seen.add(lead.automation_trigger_id);
  }
  const full = leads.length === ${MAX_LEADS_PER_PAGE}; // more leads follow the last one
  since = full ? leads.at(-1).createdAt : new Date(response.headers.get('date')).toISOString();
}`,
});

const recipes = (endpoint: string): readonly Recipe[] => [
  followLink(endpoint),
  lastCreatedAt(endpoint),
  dateOfAnswer(endpoint),
];

const ORDER = [
  [
    'without `since`',
    'the newest leads, newest first',
    'Zapier and other platforms that drop duplicates by id; samples in an editor',
  ],
  [
    'with `since`',
    'the leads that directly follow it, oldest first',
    'clients that page forward and may stop after any lead',
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
<p>${prose(`Poll every 2 minutes. While a page is full (${MAX_LEADS_PER_PAGE} leads), poll again at once. When a request fails, send the same request again: no lead is lost. The same lead always has the same \`automation_trigger_id\`.`)}</p>
${table({
  kind: 'plain',
  caption: 'Which leads, in which order',
  columns: ['Request', 'Response', 'For'],
  rows: ORDER.map((cells) => cells.map(prose)),
})}
<p>Three ways to store your position. None of them loses a lead; use the one that suits your platform.</p>
${recipes(endpoint).map(recipeMarkup)}</section>`;
}
