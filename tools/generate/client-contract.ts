import {
  IMPORT_FIELDS,
  type ImportField,
  LEAD_FIELDS,
  LEADS_PATH,
  type LeadFieldType,
  MAX_INTAKE_BYTES,
  MAX_INTAKE_LEADS,
  MAX_LEADS_PER_PAGE,
  NEW_LEADS_PATH,
  type OpenApiDocument,
  PROBLEM_CODES,
  type Schema,
} from '@leadtap/contract';

/** packages/client/src/contract.ts: a copy of the contract, because the client is published without dependencies. */
export function clientContract({ components: { schemas } }: OpenApiDocument): string {
  const types = Object.entries(schemas).map(([name, schema]) => interfaceOf(name, schema));
  return `// Generated from packages/contract by \`npm run generate\`.

export const NEW_LEADS_PATH = '${NEW_LEADS_PATH}';

export const MAX_LEADS_PER_PAGE = ${MAX_LEADS_PER_PAGE};

export const LEADS_PATH = '${LEADS_PATH}';

export const MAX_INTAKE_LEADS = ${MAX_INTAKE_LEADS};

export const MAX_INTAKE_BYTES = ${MAX_INTAKE_BYTES};

/** The codes of the problems that the service responds with. */
export type ProblemCode =
${PROBLEM_CODES.map((code) => `  | '${code}'`).join('\n')};

${leadToSend()}
${types.join('\n')}`;
}

function interfaceOf(name: string, { description, properties = {}, required = [] }: Schema): string {
  const lines = Object.entries(properties).map(([property, schema]) => {
    const mark = required.includes(property) ? '' : '?';
    return `${comment(schema.description, '  ')}  readonly ${property}${mark}: ${typeOf(schema)};\n`;
  });
  return `${comment(description)}export interface ${name} {\n${lines.join('')}}\n`;
}

/** What `sendLeads` takes: the fields of an import, all optional. */
function leadToSend(): string {
  const lines = IMPORT_FIELDS.filter(({ import: rule }) => !rule.historicalOnly).map(
    (field) => `${comment(describe(field), '  ')}  readonly ${field.name}?: ${inputTypeOf(field)};\n`,
  );
  const text =
    'A lead to send. A field that is left out stays as it is, or gets its default in a new lead; null resets it.';
  return `${comment(text)}export interface LeadToSend {\n${lines.join('')}}

/** A lead that is stored. */
export interface SentLead {
  /** The id that was sent, or the one that Leadtap created. */
  readonly id: string;
  /** The \`createdAt\` of the lead, with which it is delivered. */
  readonly createdAt: string;
  /** Whether the lead is new. A retry may update what the first attempt has added. */
  readonly result: 'added' | 'updated';
}
`;
}

const PLACES: Readonly<Record<string, string>> = {
  companyId: "The user's own company, which is also the default.",
  branchId: "A branch of the company. Default: the user's own.",
  departmentId: "A department of the company. Default: the user's own.",
};

function describe({ name, import: { note } }: ImportField): string {
  const description = PLACES[name] ?? LEAD_FIELDS.find((field) => field.name === name)?.description ?? '';
  return PLACES[name] || !note ? description : `${description} ${note[0]?.toUpperCase()}${note.slice(1)}.`;
}

/** `undefined` is allowed, so that a caller may pass what it has. */
function inputTypeOf({ name, type }: ImportField): string {
  const isNullable = !['companyId', 'id', 'statusValue'].includes(name);
  return [INPUT_TYPES[type] ?? 'string', ...(isNullable ? ['null'] : []), 'undefined'].join(' | ');
}

const INPUT_TYPES: Partial<Record<LeadFieldType, string>> = {
  instant: 'string | Date',
  object: 'Readonly<Record<string, unknown>>',
  urls: 'readonly string[]',
  boolean: 'boolean',
};

const comment = (text: string | undefined, indent = ''): string => (text ? `${indent}/** ${text} */\n` : '');

function typeOf({ $ref, type, items, oneOf, enum: values }: Schema): string {
  if ($ref !== undefined) return $ref.slice($ref.lastIndexOf('/') + 1);
  if (oneOf) return `(${oneOf.map(typeOf).join(' | ')})`;
  if (values)
    return values.length === PROBLEM_CODES.length
      ? 'ProblemCode'
      : values.map((value) => `'${value}'`).join(' | ');
  return [type]
    .flat()
    .map((one) => (one === 'array' ? `readonly ${typeOf(items ?? {})}[]` : TYPES[one ?? '']))
    .join(' | ');
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  boolean: 'boolean',
  null: 'null',
  object: 'Readonly<Record<string, unknown>>',
};
