/** The tables of lead fields, of the forms of `since` and of headers, in the docs. */
import {
  IMPORT_FIELDS,
  type ImportField,
  LEAD_FIELDS,
  type LeadFieldType,
  NEW_LEADS_PATH,
  SINCE_FORMS,
} from '@leadtap/contract';
import type { openApiDocument } from '@leadtap/contract/openapi';

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(head), row(head.map(() => '---')).replaceAll(' ', ''), ...rows.map(row)].join('\n');

const WIRE_TYPES: Partial<Record<LeadFieldType, string>> = {
  instant: 'ISO 8601 string',
  timeOfDay: '`HH:MM` string',
  status: 'object',
  object: 'object',
  urls: 'array of strings',
  boolean: 'boolean',
};

/** For docs/http-api.md. */
export const wireFieldTable = (): string =>
  table(
    ['field', 'type', 'meaning'],
    LEAD_FIELDS.map(({ name, type, nullable, description }) => [
      `\`${name}\``,
      `${WIRE_TYPES[type] ?? 'string'}${nullable ? ' or null' : ''}`,
      description,
    ]),
  );

/** For docs/http-api.md. */
export const sinceTable = (): string =>
  table(
    ['form', 'example', 'read as'],
    SINCE_FORMS.map(({ form, example, readAs }) => [form, `\`${example}\``, `\`${readAs}\``]),
  );

/** For docs/http-api.md: the headers of a poll. */
export function headerTable({ paths, components }: ReturnType<typeof openApiDocument>): string {
  const responses = Object.entries(paths[NEW_LEADS_PATH]?.get?.responses ?? {});
  const rows = Object.entries(components.headers).map(([name, { description, example }]) => {
    const statuses = responses.filter(([, { headers = {} }]) => name in headers).map(([status]) => status);
    const on = statuses.length === responses.length ? 'all' : statuses.join(', ');
    return [`\`${name}\``, on, description, `\`${example}\``];
  });
  return table(['header', 'on', 'meaning', 'example'], rows);
}

const number = (value = 0): string => value.toLocaleString('en-US');

/** What an import accepts for each type. */
const IMPORT_FORMS: Readonly<Partial<Record<LeadFieldType, (rule: ImportField['import']) => string>>> = {
  id: ({ maxLength }) => `1 to ${number(maxLength)} characters`,
  text: ({ maxLength }) => `text of at most ${number(maxLength)} characters`,
  email: ({ maxLength }) => `\`name@host\`, at most ${number(maxLength)} characters`,
  instant: () =>
    'ISO 8601, such as `2026-03-05T14:00:00+01:00` or `2026-03-05T14:00`; without an offset it is in the [time zone](configuration.md) of the token, of `LEADTAP_TIME_ZONE`, or UTC',
  timeOfDay: () => '`HH:MM`, from `00:00` to `23:59`',
  statusCode: () => "one of the company's statuses: its value, such as `NEW`, or its label, in any case",
  object: ({ maxBytes = 0, maxLevels }) =>
    `an object with your own fields, at most ${maxBytes / 1024} KiB as JSON and ${maxLevels} levels deep; write integers beyond 2^53 as strings`,
  urls: ({ maxItems, maxLength }) =>
    `at most ${maxItems} \`https://\` or \`http://\` addresses of at most ${number(maxLength)} characters`,
  boolean: () => '`true` or `false`; in CSV and forms also `yes`, `no`, `on`, `off`, `1`, `0`',
};

function importText({ type, import: rule }: ImportField): string {
  const form = IMPORT_FORMS[type]?.(rule) ?? '';
  return [...(rule.required ? ['required'] : []), form, ...(rule.note ? [rule.note] : [])].join('; ');
}

/** For docs/getting-leads-in.md. Fields with the same rule share a row. */
export function importFieldTable(): string {
  const names = new Map<string, string[]>();
  for (const field of IMPORT_FIELDS) {
    const text = importText(field);
    names.set(text, [...(names.get(text) ?? []), `\`${field.name}\``]);
  }
  const rows = [...names].map(([text, fields]) => [fields.join(', '), text]);
  const filledIn = LEAD_FIELDS.filter((field) => field.import === undefined).map(({ name }) => `\`${name}\``);
  return `${table(['field', 'value'], rows)}

Leadtap sets ${filledIn.join(', ')}: leave them out.`;
}
