import {
  exampleLead,
  NEW_LEADS_PATH,
  type OpenApiDocument,
  type Parameter,
  type Schema,
  SINCE_FORMS,
} from '@leadtap/contract';
import { codeBlock, type Html, html, prose } from './html.ts';
import { named, table } from './table.ts';

const code = (text: string): Html => html`<code>${text}</code>`;

/** A value on one line that can be broken at its spaces. */
function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  const lines = JSON.stringify(value, null, 1);
  return lines.replaceAll(/(?<=[[{])\n *|\n *(?=[\]}])/g, '').replaceAll(/\n */g, ' ');
}

/** `string or null`, `string, date-time`, `array of string`, `object`. */
function typeText({ $ref, type, format, items }: Schema): string {
  if ($ref !== undefined) return 'object';
  if (type === 'array' && items !== undefined) return `array of ${typeText({ ...items, format: '' })}`;
  const types = [type ?? 'any'].flat().join(' or ');
  return format ? `${types}, ${format}` : types;
}

function parameterRow({ name, in: place, schema, description, example }: Parameter): readonly Html[] {
  const fallback = schema.default === undefined ? '' : ` Default ${asText(schema.default)}.`;
  return [named(name, `${typeText(schema)}, ${place}`), prose(description + fallback), code(asText(example))];
}

export function parametersSection(document: OpenApiDocument): Html {
  return html`<section aria-labelledby="parameters">
<h2 id="parameters">Parameters</h2>
<p>${prose('All are optional; parameters that are not listed are ignored. A value that cannot be read is answered with 400 `invalid-query`, never guessed.')}</p>
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
    named(name, typeText(field)),
    prose(field.description ?? ''),
    code(asText(field.examples?.[0] ?? example[name])),
  ]);
}

const COLUMNS = ['Field', 'Meaning', 'Example'];

export function leadSection({ components: { schemas } }: OpenApiDocument): Html {
  const rows = fieldRows(
    { ...schemas.Lead, properties: { ...schemas.Lead.properties, status: schemas.LeadStatus } },
    exampleLead,
  );
  return html`<section aria-labelledby="lead">
<h2 id="lead">The lead</h2>
<p>The answer is a JSON array of leads. Each has these ${rows.length} fields, all always present, in this order. All times are UTC.</p>
${table({ kind: 'fields', caption: 'Fields of a lead', columns: COLUMNS, rows })}
${table({ kind: 'fields', caption: 'Fields of status', columns: COLUMNS, rows: fieldRows(schemas.LeadStatus, exampleLead.status) })}
<details>
<summary>A whole lead</summary>
${codeBlock(JSON.stringify(exampleLead, null, 2))}
</details>
</section>`;
}
