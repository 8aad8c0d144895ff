/** The bodies of `POST {base_url}/leads`: leads on their way in, and the acknowledgement. */
import { type Static, type TSchema, type TSchemaOptions, Type } from 'typebox';
import { IMPORT_FIELDS, type ImportField, LEAD_FIELDS, type LeadFieldType } from './lead-fields.ts';

const FIELD_SCHEMAS: Partial<Record<LeadFieldType, (field: ImportField) => TSchema>> = {
  instant: () => Type.String({ format: 'date-time' }),
  timeOfDay: () => Type.String({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$' }),
  object: () => Type.Record(Type.String(), Type.Unknown()),
  urls: ({ import: { maxItems } }) =>
    Type.Array(Type.String({ format: 'uri' }), { ...(maxItems !== undefined && { maxItems }) }),
  boolean: () => Type.Boolean(),
};

const text = ({ import: { maxLength } }: ImportField): TSchema =>
  Type.String({ ...(maxLength !== undefined && { maxLength }) });

/** The place of a lead, which the lead on the wire has by its names. */
const PLACES: Readonly<Record<string, TSchemaOptions>> = {
  companyId: {
    description: 'The company of the user; may be left out. Another company is an error.',
    examples: ['soleil'],
  },
  branchId: {
    description: 'A branch of the company. By default that of the user, if the access level is BRANCH.',
    examples: ['lyon'],
  },
  departmentId: {
    description:
      'A department of the company, which also sets the branch. By default that of the user, if the access level is DEPARTMENT.',
    examples: ['repairs'],
  },
};

function optionsOf(name: string): TSchemaOptions {
  const field = LEAD_FIELDS.find((candidate) => candidate.name === name);
  return field ? { description: field.description, examples: [field.sample] } : (PLACES[name] ?? {});
}

const INTAKE_FIELDS = IMPORT_FIELDS.filter(({ import: rule }) => !rule.historicalOnly);

/** A lead that is sent. The checks of the server say more than a schema can: its messages are those of `leads import`. */
export const NewLead = Type.Object(
  Object.fromEntries(
    INTAKE_FIELDS.map((field) => {
      const schema = (FIELD_SCHEMAS[field.type] ?? text)(field);
      return [field.name, Type.Optional(Type.Union([schema, Type.Null()], optionsOf(field.name)))];
    }),
  ),
  {
    additionalProperties: false,
    description:
      'A lead that is sent. All fields are optional. With the `id` of an existing lead it is an update: fields that are left out keep their values, null resets them.',
  },
);

export const WRITE_RESULTS = ['added', 'updated'] as const;

export const WrittenLead = Type.Object(
  {
    id: Type.String({ description: 'The id of the lead: the one that was sent, or a new one.' }),
    createdAt: Type.String({
      format: 'date-time',
      description: 'When the lead was created. An update does not change it.',
    }),
    result: Type.Unsafe<(typeof WRITE_RESULTS)[number]>({
      type: 'string',
      enum: [...WRITE_RESULTS],
      description: '`updated` if a lead with this id existed.',
    }),
  },
  { additionalProperties: false, description: 'A lead that was stored.' },
);

export type WrittenLead = Static<typeof WrittenLead>;

export const WrittenLeads = Type.Object(
  { leads: Type.Array(WrittenLead, { description: 'In the order in which they were sent.' }) },
  { additionalProperties: false, description: 'The leads of the request are stored.' },
);

export type WrittenLeads = Static<typeof WrittenLeads>;

/** For documentation and tests. */
export const exampleNewLead = {
  id: 'web-4711',
  firstName: 'Ada',
  lastName: 'Lovelace',
  email: 'ada@example.com',
  phone1: '+33 6 12 34 56 78',
  customFields: { source: 'web form' },
};

export const exampleWrittenLeads: WrittenLeads = {
  leads: [{ id: exampleNewLead.id, createdAt: '2026-03-02T09:30:00.001Z', result: 'added' }],
};
