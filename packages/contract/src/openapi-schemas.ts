import { exampleLead, Lead, LeadStatus } from './lead.ts';
import type { Schema } from './openapi-types.ts';
import { ParameterError, Problem } from './problems.ts';

export type ComponentName = 'Lead' | 'LeadStatus' | 'Problem' | 'ParameterError';

/** The schemas that stand under `components` by name instead of being repeated in place. */
const COMPONENTS: Readonly<Record<ComponentName, object>> = { Lead, LeadStatus, Problem, ParameterError };

const NAMES = Object.keys(COMPONENTS) as readonly ComponentName[];

type Keywords = Readonly<Record<string, unknown>>;

const isKeywords = (value: unknown): value is Keywords => typeof value === 'object' && value !== null;

/** `anyOf: [string, null]` is written `type: [string, null]`, which every OpenAPI tool shows as one type. */
function withoutNullUnion(schema: Keywords): Keywords {
  const { anyOf, ...rest } = schema;
  const [value, none, ...more] = Array.isArray(anyOf) ? anyOf : [];
  if (!isKeywords(value) || !isKeywords(none) || more.length > 0) return schema;
  if (typeof value['type'] !== 'string' || none['type'] !== 'null') return schema;
  return { ...value, type: [value['type'], 'null'], ...rest };
}

/** A map with any keys is written with `additionalProperties`, which tools know better than a pattern for all keys. */
function withoutAnyKeyPattern(schema: Keywords): Keywords {
  const { patternProperties, ...rest } = schema;
  if (!isKeywords(patternProperties) || !('^.*$' in patternProperties)) return schema;
  const values = patternProperties['^.*$'];
  const isAnything = isKeywords(values) && Object.keys(values).length === 0;
  return { ...rest, additionalProperties: isAnything ? true : values };
}

function convert(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(convert);
  if (!isKeywords(value)) return value;
  const name = NAMES.find((candidate) => COMPONENTS[candidate] === value);
  return name === undefined ? openApiSchema(value) : { $ref: `#/components/schemas/${name}` };
}

/** A TypeBox schema as OpenAPI 3.1 writes it: what it accepts stays the same. */
export function openApiSchema(schema: object): Schema {
  const plain = withoutAnyKeyPattern(withoutNullUnion({ ...schema }));
  return Object.fromEntries(Object.entries(plain).map(([key, value]) => [key, convert(value)])) as Schema;
}

export const componentSchemas: Readonly<Record<ComponentName, Schema>> = {
  Lead: { ...openApiSchema(Lead), examples: [exampleLead] },
  LeadStatus: { ...openApiSchema(LeadStatus), examples: [exampleLead.status] },
  Problem: openApiSchema(Problem),
  ParameterError: openApiSchema(ParameterError),
};
