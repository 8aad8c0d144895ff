/**
 * The schema and the type of everything on the wire, under one name. Apart from `@leadtap/contract`, which has the types
 * alone: polls need no schema, and TypeBox would take a quarter of the processor time in which the service starts.
 */
import { type Static, type TSchema, type TSchemaOptions, Type } from 'typebox';
import {
  IMPORT_FIELDS,
  type ImportField,
  LEAD_FIELDS,
  type LeadField,
  type LeadFieldName,
  type LeadFieldTable,
  type LeadFieldType,
} from './lead-fields.ts';
import {
  MAX_HOOK_NAME_LENGTH,
  MAX_HOOK_URL_LENGTH,
  MAX_LEADS_PER_PAGE,
  MAX_SEARCH_LENGTH,
  MIN_LEADS_PER_PAGE,
} from './limits.ts';
import { PROBLEM_CODES } from './problems.ts';
import { HOOK_SENDS, type HookSend, SINCE_EXAMPLE } from './query.ts';

export * from './connection-schemas.ts';

export const NewLeadsQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({
      minimum: MIN_LEADS_PER_PAGE,
      default: MAX_LEADS_PER_PAGE,
      description: `Maximum number of leads returned. Above ${MAX_LEADS_PER_PAGE} it counts as ${MAX_LEADS_PER_PAGE}.`,
      examples: [50],
    }),
  ),
  since: Type.Optional(
    Type.String({
      // Not SINCE_PATTERN: Postman and other converters build a value from a pattern, such as 0238-90-35, and send it.
      format: 'date-time',
      description:
        'ISO 8601 date-time. Only leads created strictly after it are returned, oldest first. Without an offset it is read as UTC; a date alone is its midnight UTC; more than three fraction digits are cut to milliseconds. Omit it to get the newest leads, newest first.',
      examples: [SINCE_EXAMPLE],
    }),
  ),
});

export type NewLeadsQuery = Static<typeof NewLeadsQuery>;

export const FindLeadsQuery = Type.Object({
  before: Type.Optional(
    Type.String({
      format: 'date-time',
      description:
        'ISO 8601 date-time. Only leads created strictly before it are returned. Omit it to begin with the newest lead.',
      examples: [SINCE_EXAMPLE],
    }),
  ),
  limit: NewLeadsQuery.properties.limit,
  q: Type.Optional(
    Type.String({
      maxLength: MAX_SEARCH_LENGTH,
      description:
        'Only leads with this text in a name, the e-mail address, a phone number or the id. Case, accents and the number of spaces do not count. Phone numbers are also compared by their digits: four are enough, with or without the country code.',
      examples: ['moreau'],
    }),
  ),
  owed: Type.Optional(
    Type.String({
      description:
        'The id of a connection: only leads that it was not sent and that are not marked as handled, those that wait for it included. `unassigned`: those that no automation gets. Not together with `q`.',
      examples: ['unassigned'],
    }),
  ),
});

export type FindLeadsQuery = Static<typeof FindLeadsQuery>;

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

const FIELD_SCHEMAS: Readonly<
  Record<Exclude<LeadFieldType, 'status'>, (options: TSchemaOptions) => TSchema>
> = {
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
  return nullable
    ? Type.Union([FIELD_SCHEMAS[type]({}), Type.Null()], options)
    : FIELD_SCHEMAS[type](options);
}

/** The schema of the lead on the wire. */
export const Lead = Type.Object(
  Object.fromEntries(LEAD_FIELDS.map((field) => [field.name, fieldSchema(field)])),
  { additionalProperties: false, description: 'A new lead.' },
);

// Leads that are sent with `POST {base_url}/leads`, and the acknowledgement.

const INTAKE_SCHEMAS: Partial<Record<LeadFieldType, (field: ImportField) => TSchema>> = {
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
      const schema = (INTAKE_SCHEMAS[field.type] ?? text)(field);
      return [field.name, Type.Optional(Type.Union([schema, Type.Null()], optionsOf(field.name)))];
    }),
  ),
  {
    additionalProperties: false,
    description:
      'A lead that is sent. All fields are optional. With the `id` of an existing lead it is an update: fields that are left out keep their values, null resets them.',
  },
);

const WRITE_RESULTS = ['added', 'updated'] as const;

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

const isoTime = (description?: string) =>
  Type.String({ format: 'date-time', ...(description !== undefined && { description }) });

const HOOK_STATES = ['active', 'failing', 'disabled'] as const;

const hookId = () => Type.String({ description: 'The id of the subscription.' });
const hookUrl = () => Type.String({ description: 'Where its events are sent.' });
const hookSend = () =>
  Type.Unsafe<HookSend>({
    type: 'string',
    enum: [...HOOK_SENDS],
    description:
      '`event`: that there are new leads, so that the receiver polls. `lead`: each new lead in a request of its own.',
  });
const hookName = () =>
  Type.Union([Type.String(), Type.Null()], {
    description: 'What people call it. Null: it has no name of its own, and is called like its token.',
  });
/** Surrounding spaces are removed before it is counted. */
const givenHookName = () =>
  Type.String({
    minLength: 1,
    maxLength: MAX_HOOK_NAME_LENGTH,
    description: 'Without control characters. Spaces around it are removed.',
  });
const hookState = () =>
  Type.Unsafe<(typeof HOOK_STATES)[number]>({
    type: 'string',
    enum: [...HOOK_STATES],
    description:
      '`active`: the last event was accepted, or there was none. `failing`: it was not, and is sent again later. `disabled`: it was not accepted for 3 days, or, if leads are sent, the receiver answered 410; subscribe again.',
  });

const hookProgress = () => ({
  state: hookState(),
  announcedThrough: isoTime(
    'Leads created up to here were announced or sent, and accepted, or are not to be announced.',
  ),
  lastEventAt: Type.Union([isoTime(), Type.Null()], {
    description: 'The time of the last attempt to send an event. Null: there was none yet.',
  }),
  lastStatus: Type.Union([Type.Integer(), Type.Null()], {
    description: 'The status of the response to the last event. Null: there was none.',
  }),
  failures: Type.Integer({
    minimum: 0,
    description: 'Events that were not accepted since the last one that was.',
  }),
});

export const HookRequest = Type.Object(
  {
    url: Type.String({
      maxLength: MAX_HOOK_URL_LENGTH,
      description:
        'Where events are sent: https, a host that the operator allows, and no user name, password, fragment or port.',
    }),
    since: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description:
          'Leads created after it are announced or sent, in the forms of `since` of a poll. Default: after the newest lead that the user may see; or where its connection is, for a webhook that sends leads and is made again within 24 hours.',
      }),
    ),
    send: Type.Optional(Type.Union([hookSend(), Type.Null()], { description: 'Default: `event`.' })),
    name: Type.Optional(
      Type.Union([givenHookName(), Type.Null()], {
        description: 'What people call it. Default: the name that it has, or else that of its token.',
      }),
    ),
  },
  { description: 'A webhook subscription. Other fields are ignored.' },
);

export const HookChange = Type.Object(
  { name: givenHookName() },
  { description: 'The new name of a webhook subscription. Other fields are ignored.' },
);

export type HookChange = Static<typeof HookChange>;

export const SubscribedHook = Type.Object(
  {
    id: hookId(),
    url: hookUrl(),
    name: hookName(),
    send: hookSend(),
    secret: Type.String({
      description: 'The secret of the signatures of its events, in the form of Standard Webhooks.',
    }),
    since: isoTime('Leads created after it are announced or sent.'),
    state: hookState(),
  },
  { additionalProperties: false, description: 'A webhook subscription, and the secret of its events.' },
);

export type SubscribedHook = Static<typeof SubscribedHook>;

export const Hook = Type.Object(
  {
    id: hookId(),
    url: hookUrl(),
    name: hookName(),
    send: hookSend(),
    ...hookProgress(),
  },
  { additionalProperties: false, description: 'The state of a webhook subscription.' },
);

export type Hook = Static<typeof Hook>;

export const HookEventData = Type.Object(
  {
    hookId: hookId(),
    since: isoTime('Leads up to here were announced before.'),
    through: isoTime('The `createdAt` of the newest lead that the user may see.'),
    poll: Type.String({ description: 'The URL of the poll that returns the new leads.' }),
  },
  { additionalProperties: false, description: 'Where the new leads are: after `since`, up to `through`.' },
);

export const HookEvent = Type.Object(
  {
    type: Type.Unsafe<'leads.available'>({ type: 'string', enum: ['leads.available'] }),
    timestamp: isoTime('When this attempt was sent.'),
    data: HookEventData,
  },
  { additionalProperties: false, description: 'There are new leads: poll. It contains no lead.' },
);

export type HookEvent = Static<typeof HookEvent>;

export const ParameterError = Type.Object(
  {
    parameter: Type.String({ description: 'The query parameter.' }),
    detail: Type.String({ description: 'Why the value was rejected, with a valid example.' }),
  },
  { additionalProperties: false, description: 'An error in one query parameter.' },
);

export type ParameterError = Static<typeof ParameterError>;

export const LeadError = Type.Object(
  {
    index: Type.Integer({
      minimum: 0,
      description: 'The position of the lead in the request; 0 is the first.',
    }),
    field: Type.Union([Type.String(), Type.Null()], {
      description: 'The field of the lead; null if the lead is wrong as a whole.',
    }),
    detail: Type.String({ description: 'Why the value was rejected, and what to do.' }),
  },
  { additionalProperties: false, description: 'An error in one field of one lead.' },
);

export type LeadError = Static<typeof LeadError>;

/** RFC 9457 problem details. */
export const Problem = Type.Object(
  {
    type: Type.String({ format: 'uri', description: 'Names the kind of problem.' }),
    title: Type.String({ description: 'The kind of problem in words, always the same.' }),
    status: Type.Integer({ minimum: 400, maximum: 599, description: 'The HTTP status of the answer.' }),
    detail: Type.String({ description: 'What happened this time and what to do.' }),
    code: Type.String({ enum: [...PROBLEM_CODES], description: 'The name to use in programs.' }),
    requestId: Type.String({ description: 'The same as in `X-Request-Id`.' }),
    errors: Type.Optional(
      Type.Array(Type.Union([ParameterError, LeadError]), {
        description:
          'With `invalid-query`: every invalid parameter at once. With `invalid-lead` and `id-of-another-person`: every invalid field of every lead.',
      }),
    ),
    violatedPolicies: Type.Optional(
      Type.Array(Type.String(), {
        description: 'With `rate-limit-exceeded`: the limits that were exceeded.',
      }),
    ),
    held: Type.Optional(
      Type.Boolean({
        description:
          'If leads were sent, with 422, `token-expired` and `insufficient-scope`: `true` if the request is held for the operator, who can accept it; `false` if it is lost unless it is sent again.',
      }),
    ),
  },
  { description: 'A problem of RFC 9457.' },
);

export type Problem = Static<typeof Problem>;
