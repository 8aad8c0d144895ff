import {
  NEW_LEADS_PATH,
  type OpenApiDocument,
  type Parameter,
  PROBLEM_CODES,
  PROBLEMS,
  type ProblemCode,
  type ProblemEntry,
  type Schema,
  SINCE_FORMS,
  sampleLead,
  USER_LIMITS_TEXT,
} from '@leadtap/contract';
import { codeBlock, type Html, html, named, prose, table } from './html.ts';

const code = (text: string): Html => html`<code>${text}</code>`;

/** A value as text that can wrap at its spaces. */
function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  const lines = JSON.stringify(value, null, 1);
  return lines.replaceAll(/(?<=[[{])\n *|\n *(?=[\]}])/g, '').replaceAll(/\n */g, ' ');
}

/** `string or null`, `string, date-time`, `array of string`, `object`. */
function typeName({ $ref, type, format, items }: Schema): string {
  if ($ref !== undefined) return 'object';
  if (type === 'array' && items !== undefined) return `array of ${typeName({ ...items, format: '' })}`;
  const types = [type ?? 'any'].flat().join(' or ');
  return format ? `${types}, ${format}` : types;
}

function parameterRow({ name, in: place, schema, description, example }: Parameter): readonly Html[] {
  const fallback = schema.default === undefined ? '' : ` Default ${toText(schema.default)}.`;
  return [named(name, `${typeName(schema)}, ${place}`), prose(description + fallback), code(toText(example))];
}

export function parametersSection(document: OpenApiDocument): Html {
  return html`<section aria-labelledby="parameters">
<h2 id="parameters">Parameters</h2>
<p>${prose('All are optional; unknown parameters are ignored. An invalid value gets 400 `invalid-query`.')}</p>
${table({
  kind: 'fields',
  caption: 'Parameters of the request',
  columns: ['Name', 'Meaning', 'Example'],
  rows: document.paths[NEW_LEADS_PATH].parameters.map(parameterRow),
})}
${table({
  kind: 'plain',
  caption: 'Accepted forms of since',
  columns: ['Form', 'Example', 'Read as'],
  rows: SINCE_FORMS.map(({ form, example, readAs }) => [prose(form), code(example), code(readAs)]),
})}
</section>`;
}

function fieldRows(schema: Schema, example: Readonly<Record<string, unknown>>): readonly (readonly Html[])[] {
  return Object.entries(schema.properties ?? {}).map(([name, field]) => [
    named(name, typeName(field)),
    prose(field.description ?? ''),
    code(toText(field.examples?.[0] ?? example[name])),
  ]);
}

const COLUMNS = ['Field', 'Meaning', 'Example'];

export const schemaTable = (caption: string, schema: Schema): Html =>
  table({ kind: 'fields', caption, columns: COLUMNS, rows: fieldRows(schema, {}) });

export function leadSection({ components: { schemas } }: OpenApiDocument): Html {
  const rows = fieldRows(
    { ...schemas.Lead, properties: { ...schemas.Lead.properties, status: schemas.LeadStatus } },
    sampleLead,
  );
  return html`<section aria-labelledby="lead">
<h2 id="lead">The lead</h2>
<p>The response is a JSON array of leads. Each lead has these ${rows.length} fields, always all of them, in this order. All times are UTC.</p>
${table({ kind: 'fields', caption: 'Fields of a lead', columns: COLUMNS, rows })}
${table({ kind: 'fields', caption: 'Fields of status', columns: COLUMNS, rows: fieldRows(schemas.LeadStatus, sampleLead.status) })}
<details>
<summary>A complete lead</summary>
${codeBlock(JSON.stringify(sampleLead, null, 2))}
</details>
</section>`;
}

function statusesWith(header: string, document: OpenApiDocument): string {
  const all = Object.entries(document.paths[NEW_LEADS_PATH].get.responses);
  const some = all.filter(([, response]) => header in response.headers).map(([status]) => status);
  return some.length === all.length ? 'on every response' : `on ${some.join(', ')}`;
}

export function headersSection(document: OpenApiDocument): Html {
  const rows = Object.entries(document.components.headers).map(([name, { description, example }]) => [
    named(name, statusesWith(name, document)),
    prose(description),
    html`<code>${String(example)}</code>`,
  ]);
  return html`<section aria-labelledby="headers">
<h2 id="headers">Response headers</h2>
<p>Every response to a valid token has the rate-limit headers, except 405, which is sent before the token is checked. Header names are not case-sensitive.</p>
${table({ kind: 'fields', caption: 'Headers of the responses', columns: ['Header', 'Meaning', 'Example'], rows })}
</section>`;
}

export function rateLimitsSection(): Html {
  return html`<section aria-labelledby="rate-limits">
<h2 id="rate-limits">Rate limits</h2>
<p>Each user may send <strong>${USER_LIMITS_TEXT}</strong>, over all tokens of the user. ${prose('Every request with a valid token counts, also `HEAD` and 304; a request that gets 429 does not.')}</p>
<p>${prose('Above a limit the response is 429 with a whole number of seconds in `Retry-After`. Wait that long, then send the same request: it passes both limits, and no lead is lost. `RateLimit` has the remaining requests on every response.')}</p>
</section>`;
}

function problem(code: ProblemCode): Html {
  const { status, title, meaning, integrator, operator }: ProblemEntry = PROBLEMS[code];
  const advice = html`<p><strong>What to do:</strong> ${prose(integrator)}</p>\n`;
  return article({
    ...{ id: `problem-${code}`, name: code, badge: String(status), title },
    kind: `s${Math.floor(status / 100)}`,
    texts: [
      ...(meaning ? [html`<p>${prose(meaning)}</p>\n`] : []),
      advice,
      ...(operator ? [html`<p><strong>As the operator:</strong> ${prose(operator)}</p>\n`] : []),
    ],
  });
}

interface Article {
  readonly id: string;
  readonly name: string;
  readonly badge: string;
  /** The class of the badge. */
  readonly kind: string;
  readonly title: string;
  readonly texts: readonly Html[];
}

const article = ({ id, name, badge, kind, title, texts }: Article): Html =>
  html`<article class="problem" aria-labelledby="${id}">
<h3 id="${id}"><a href="#${id}">${name}</a> <span class="status ${kind}">${badge}</span></h3>
<p class="title">${title}</p>
${texts}</article>
`;

export function problemsSection(): Html {
  return html`<section aria-labelledby="problems">
<h2 id="problems">Problems</h2>
<p>${prose('Every response with a status of 400 or above is an RFC 9457 problem, `application/problem+json`. Use its `code` in programs, show its `detail` to people, and quote its `requestId` when you ask for help. The checks of a poll are made in this order: token (401), rate limit (429), user (404), plan (403), scope (403), query (400).')}</p>
${PROBLEM_CODES.map(problem)}</section>`;
}

/** A rule of the diagnosis, as the page explains it. */
export interface DiagnosisEntry {
  readonly name: string;
  readonly levels: readonly string[];
  readonly title: string;
  readonly guide: string;
}

/** What the operator reads on the status page. Messages and alerts lead to `/docs#name`. */
export function diagnosisSection(rules: readonly DiagnosisEntry[]): Html {
  return html`<section aria-labelledby="diagnosis">
<h2 id="diagnosis">Diagnosis</h2>
<p>${prose('For the operator: problems of the installation, as the status page, `leadtap doctor` and the alerts name them. A warning means: look into it. Unknown means that it cannot be said yet.')}</p>
${rules.map(({ name, levels, title, guide }) =>
  article({
    ...{ id: name, name, badge: levels.join(', '), title, texts: [html`<p>${prose(guide)}</p>\n`] },
    kind: levels.includes('error') ? 's5' : 's4',
  }),
)}</section>`;
}
