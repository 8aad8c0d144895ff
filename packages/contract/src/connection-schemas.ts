/** `GET {base_url}/automation/connections`: all ways in and out, what became of a lead, and the log of a connection. */
import { type Static, type TSchema, Type } from 'typebox';
import { MAX_LEADS_PER_PAGE } from './limits.ts';
import { SINCE_EXAMPLE } from './query.ts';

export const CONNECTION_LEVELS = ['error', 'warning', 'unknown', 'good'] as const;
export const CONNECTION_STATES = ['new', 'working', 'silent', 'failing', 'paused', 'ended'] as const;
/** What a person can do about a connection. Each ends what its row says. */
export const CONNECTION_ACTIONS = [
  'send',
  'accept',
  'renew',
  'connect',
  'handled',
  'resume',
  'allow-host',
] as const;
export const LEAD_STATES = ['sent', 'waiting', 'missed', 'none'] as const;
export const LOG_KINDS = ['leads', 'empty', 'refused', 'failed', 'changed'] as const;

export type ConnectionLevel = (typeof CONNECTION_LEVELS)[number];
export type ConnectionState = (typeof CONNECTION_STATES)[number];
export type ConnectionAction = (typeof CONNECTION_ACTIONS)[number];
export type LeadState = (typeof LEAD_STATES)[number];
export type LogKind = (typeof LOG_KINDS)[number];

const time = (description?: string) =>
  Type.String({ format: 'date-time', ...(description !== undefined && { description }) });
const count = (description: string) => Type.Integer({ minimum: 0, description });
const nullable = <T extends TSchema>(schema: T, description: string) =>
  Type.Union([schema, Type.Null()], { description });
const oneOf = <const T extends readonly string[]>(values: T, description: string) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values], description });

export const LogQuery = Type.Object({
  before: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'ISO 8601 date-time. Only entries strictly before it are returned.',
      examples: [SINCE_EXAMPLE],
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      default: MAX_LEADS_PER_PAGE,
      description: `Maximum number of entries returned. Above ${MAX_LEADS_PER_PAGE} it counts as ${MAX_LEADS_PER_PAGE}.`,
      examples: [50],
    }),
  ),
});

export const ConnectionHour = Type.Object(
  {
    at: time('The start of the hour, in UTC.'),
    leads: count('The leads that were sent, or added.'),
    failed: count('The requests that were refused or failed.'),
    known: Type.Boolean({ description: 'Whether the service ran and recorded in this hour.' }),
  },
  { additionalProperties: false },
);

const shared = {
  id: Type.String({ description: 'Of the connection. It does not change, and is not the id of a webhook.' }),
  name: Type.String({ description: 'What people call it.' }),
  userId: Type.String({ description: 'Its user.' }),
  level: oneOf(
    CONNECTION_LEVELS,
    '`error`: leads are lost or owed. `warning`: look into it. `unknown`: it is new or paused. `good`: all is well.',
  ),
  message: Type.String({ description: 'For people, beside its name.' }),
  fix: nullable(Type.String(), 'What to do. Code is between backticks. Null: nothing.'),
  action: Type.Unsafe<ConnectionAction | null>({
    type: ['string', 'null'],
    enum: [...CONNECTION_ACTIONS, null],
    description: 'What a person can do about it. Null: nothing is to be done.',
  }),
  state: oneOf(CONNECTION_STATES, 'What the connection does now.'),
  stateSince: nullable(time(), 'Since when. Null: it is not known.'),
  lastAt: nullable(time(), 'The last request. Null: there was none.'),
  tokenExpiresAt: nullable(time(), 'When its newest token expires. Null: never, or it has none.'),
  hours: Type.Array(ConnectionHour, { description: 'The last 24 hours, the current one last.' }),
};

export const InConnection = Type.Object(
  {
    ...shared,
    source: oneOf(['token', 'form', 'provider'], 'What its requests are sent with.'),
    lastLeadAt: nullable(time(), 'When it last added a lead. Null: it has added none.'),
    added: count('The leads that it has added since `since`.'),
    updated: count('The leads that it has updated since `since`. They are not sent again.'),
    held: count('Requests that were refused and are held, of any age.'),
    lost: count(
      'Requests that were refused or turned away and are not held, until they are marked as handled.',
    ),
  },
  { additionalProperties: false, description: 'A way in: a token, form or client that sends leads.' },
);

export const OutConnection = Type.Object(
  {
    ...shared,
    kind: oneOf(['poll', 'webhook'], 'Whether it polls, or leads are sent to it.'),
    host: nullable(Type.String(), 'The host that leads are sent to. Null: it polls.'),
    sent: count('The leads that were sent to it since `since`.'),
    waiting: count('The leads that wait for it, of any age. At most 1,000 are counted.'),
    waitingSince: nullable(time(), 'Since when the first of them waits.'),
    missed: count('The leads that it missed, of any age.'),
    endedAt: nullable(time(), 'When it ended. Null: it has not.'),
  },
  { additionalProperties: false, description: 'A way out: an automation that gets leads.' },
);

export const Connections = Type.Object(
  {
    since: time('Figures are of the leads since then; what is owed, of any age.'),
    level: oneOf(CONNECTION_LEVELS, 'The worst of the rows.'),
    message: Type.String({ description: 'The sentence for people.' }),
    leads: count('The number of leads since `since`, at most 10,000.'),
    in: Type.Array(InConnection, { description: 'The worst first.' }),
    out: Type.Array(OutConnection, { description: 'The worst first.' }),
  },
  {
    additionalProperties: false,
    description:
      'The connections of the user of the token; with the access level COMPANY, of the whole company.',
  },
);

export const LeadConnections = Type.Object(
  {
    lead: Type.String({ description: 'The id of the lead.' }),
    out: Type.Array(
      Type.Object(
        {
          id: Type.String({ description: 'Of the connection.' }),
          name: Type.String(),
          state: oneOf(
            LEAD_STATES,
            '`sent`: it was written to the connection, or accepted. `waiting`: it will be. `missed`: it was not, see `why`. `none`: it is not meant for it.',
          ),
          at: nullable(time(), 'When it was sent or missed, or since when it waits.'),
          why: nullable(Type.String(), 'Why it was missed, or is not meant for it.'),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false, description: 'What became of one lead. Those without it come first.' },
);

export const LogEntry = Type.Object(
  {
    at: time('Of the last one, if it was repeated.'),
    firstAt: time('Of the first one.'),
    times: Type.Integer({ minimum: 1, description: 'How many equal requests in a row this entry is.' }),
    kind: oneOf(
      LOG_KINDS,
      '`leads`: leads were sent, announced or received. `empty`: polls without new leads. `refused`: answered with 4xx, or by a webhook with anything but 2xx. `failed`: answered with 5xx, not at all, or the body was cut off. `changed`: a person has changed the connection.',
    ),
    status: nullable(Type.Integer(), 'The status of the answer. Null: there was none.'),
    code: nullable(Type.String(), 'The code of the problem, such as `token-expired`.'),
    leads: count('The number of leads that were sent, added or updated.'),
    leadIds: Type.Array(Type.String(), {
      description: 'Their ids, if the user may see them now. At most 100.',
    }),
    durationMs: nullable(Type.Integer({ minimum: 0 }), 'How long the answer took.'),
    reason: nullable(
      Type.String(),
      'Of a webhook: the first 200 bytes that its receiver answered, if they are text. Written by others: do not trust it.',
    ),
    nextTryAt: nullable(time(), 'When a webhook that failed is tried again.'),
    fields: Type.Array(Type.String(), {
      description:
        'Of a refused request: the names of the fields with an error, at most 20, never their values.',
    }),
    message: Type.String({ description: 'For people, such as `3 leads`.' }),
    fix: nullable(Type.String(), 'What to do. Code is between backticks. Null: nothing.'),
  },
  { additionalProperties: false, description: 'A request, or several that are equal.' },
);

export const ConnectionLog = Type.Object(
  {
    name: Type.String({ description: 'The name of the connection.' }),
    log: Type.Array(LogEntry, { description: 'Newest first.' }),
  },
  { additionalProperties: false, description: 'The last 100 entries of a connection.' },
);

export const ConnectionChange = Type.Object(
  {
    name: Type.Optional(Type.String({ description: 'The new name.' })),
    paused: Type.Optional(
      Type.Boolean({
        description: 'Webhooks alone: nothing is sent until it is false again; it keeps its place.',
      }),
    ),
  },
  { description: 'A change of a connection. Other fields are ignored.' },
);

export const SendAgain = Type.Object(
  {
    leads: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: 1000,
        description: 'The ids of leads to send, again or for the first time.',
      }),
    ),
    missed: Type.Optional(Type.Boolean({ description: 'All leads that it missed.' })),
  },
  { description: 'Which leads to send to a webhook. One of the two.' },
);

export type ConnectionHour = Static<typeof ConnectionHour>;
export type InConnection = Static<typeof InConnection>;
export type OutConnection = Static<typeof OutConnection>;
export type Connections = Static<typeof Connections>;
export type LeadConnections = Static<typeof LeadConnections>;
export type LogEntry = Static<typeof LogEntry>;
export type ConnectionLog = Static<typeof ConnectionLog>;
