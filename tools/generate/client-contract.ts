import {
  LEADS_PATH,
  MAX_INTAKE_BYTES,
  MAX_INTAKE_LEADS,
  MAX_LEADS_PER_PAGE,
  MAX_WAIT_S,
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

/** The service holds a request for no longer, because many proxies end one that is silent for 60 seconds. */
export const MAX_WAIT_S = ${MAX_WAIT_S};

export const LEADS_PATH = '${LEADS_PATH}';

export const MAX_INTAKE_LEADS = ${MAX_INTAKE_LEADS};

export const MAX_INTAKE_BYTES = ${MAX_INTAKE_BYTES};

/** The codes of the problems that the service responds with. */
export type ProblemCode =
${PROBLEM_CODES.map((code) => `  | '${code}'`).join('\n')};

${types.join('\n')}`;
}

function interfaceOf(name: string, { description, properties = {}, required = [] }: Schema): string {
  const lines = Object.entries(properties).map(([property, schema]) => {
    const mark = required.includes(property) ? '' : '?';
    return `${comment(schema.description, '  ')}  readonly ${property}${mark}: ${typeOf(schema)};\n`;
  });
  return `${comment(description)}export interface ${name} {\n${lines.join('')}}\n`;
}

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
    .map((one) => (one === 'array' ? `readonly ${elementOf(items ?? {})}[]` : TYPES[one ?? '']))
    .join(' | ');
}

function elementOf(items: Schema): string {
  const type = typeOf(items);
  return [items.type].flat().length > 1 ? `(${type})` : type;
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  boolean: 'boolean',
  null: 'null',
  object: 'Readonly<Record<string, unknown>>',
};
