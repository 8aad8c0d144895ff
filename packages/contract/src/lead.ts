import { type Static, type TSchema, type TSchemaOptions, Type } from 'typebox';
import {
  LEAD_FIELDS,
  type LeadField,
  type LeadFieldName,
  type LeadFieldTable,
  type LeadFieldType,
} from './lead-fields.ts';

export const LeadStatus = Type.Object(
  {
    value: Type.String({ description: 'The status code, as in `statusValue`.' }),
    label: Type.String({ description: 'What people call it.' }),
    color: Type.String({ description: 'A CSS hex colour.' }),
    final: Type.Boolean({ description: 'Whether a lead in this status is done with.' }),
  },
  { additionalProperties: false, description: "The status, from the company's own catalogue of statuses." },
);

export type LeadStatus = Static<typeof LeadStatus>;

/** What JSON has for each type of field. */
interface WireTypes {
  id: string;
  triggerId: string;
  text: string;
  email: string;
  instant: string;
  timeOfDay: string;
  statusCode: string;
  status: LeadStatus;
  object: Record<string, unknown>;
  urls: string[];
  boolean: boolean;
}

/** The lead on the wire: all fields are always present. */
export type Lead = {
  [Name in LeadFieldName]:
    | WireTypes[LeadFieldTable[Name]['type']]
    | (LeadFieldTable[Name]['nullable'] extends true ? null : never);
};

const SCHEMAS: Readonly<Record<Exclude<LeadFieldType, 'status'>, (options: TSchemaOptions) => TSchema>> = {
  id: Type.String,
  triggerId: (options) => Type.String({ maxLength: 64, ...options }),
  text: Type.String,
  email: Type.String,
  instant: (options) => Type.String({ format: 'date-time', ...options }),
  timeOfDay: (options) => Type.String({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$', ...options }),
  statusCode: Type.String,
  object: (options) => Type.Record(Type.String(), Type.Unknown(), options),
  urls: (options) => Type.Array(Type.String({ format: 'uri' }), options),
  boolean: Type.Boolean,
};

function fieldSchema({ type, nullable, description, sample }: LeadField): TSchema {
  if (type === 'status') return LeadStatus;
  const options = { description, examples: [sample] };
  return nullable ? Type.Union([SCHEMAS[type]({}), Type.Null()], options) : SCHEMAS[type](options);
}

/** The schema of the lead on the wire. */
export const Lead = Type.Object(
  Object.fromEntries(LEAD_FIELDS.map((field) => [field.name, fieldSchema(field)])),
  { additionalProperties: false, description: 'A new lead.' },
);

/** A complete lead without nulls, for samples. */
export const sampleLead = Object.fromEntries(LEAD_FIELDS.map(({ name, sample }) => [name, sample])) as Lead;

/** A complete lead for documentation and tests, with one field that is unknown. */
export const exampleLead: Lead = { ...sampleLead, phone2: null };
