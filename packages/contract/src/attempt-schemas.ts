/** The log of a consumer or a sender: its attempts. */
import { type Static, type TSchema, Type } from 'typebox';
import { MAX_LEADS_PER_PAGE } from './limits.ts';
import { SINCE_EXAMPLE } from './query.ts';

const ATTEMPT_KINDS = ['leads', 'empty', 'refused', 'failed', 'recovered'] as const;

const time = () => Type.String({ format: 'date-time' });
const nullable = <T extends TSchema>(schema: T, description: string) =>
  Type.Union([schema, Type.Null()], { description });

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

export const Attempt = Type.Object(
  {
    at: Type.String({ format: 'date-time', description: 'Of the last one, if it was repeated.' }),
    firstAt: Type.String({ format: 'date-time', description: 'Of the first one.' }),
    times: Type.Integer({
      minimum: 1,
      description: 'How many equal attempts in a row this entry is.',
    }),
    kind: Type.Unsafe<(typeof ATTEMPT_KINDS)[number]>({
      type: 'string',
      enum: [...ATTEMPT_KINDS],
      description:
        '`leads`: leads were sent, announced or received. `empty`: polls without new leads between two others. `refused`: answered with 4xx, or by a webhook with anything but 2xx. `failed`: answered with 5xx, the webhook did not answer, or the client closed the connection before all leads of a poll, or the whole body of a sender, had arrived. `recovered`: the first success after that, without leads.',
    }),
    status: nullable(
      Type.Integer(),
      'The status of the answer. Null: there was none, or there were several.',
    ),
    code: nullable(
      Type.String(),
      'The code of the problem, such as `token-expired`; `client-closed-request`: the client closed the connection before all leads of a poll had arrived.',
    ),
    leads: Type.Integer({
      minimum: 0,
      description:
        'The number of leads that were new to it; if it had all of them, of all that were sent. 0 if a webhook was told to poll. Of a sender: those that were added; 0 if all were sent before and updated.',
    }),
    since: nullable(time(), 'The leads are later than this. Null: it is not known.'),
    through: nullable(time(), 'And not later than this.'),
    durationMs: nullable(Type.Integer({ minimum: 0 }), 'How long the answer took, without `heldMs`.'),
    heldMs: nullable(Type.Integer({ minimum: 0 }), 'How long a poll with `Prefer: wait` was held.'),
    reason: nullable(
      Type.String(),
      'Of a webhook that failed: the first 200 bytes that its receiver answered, if they are text, or that it did not answer. Written by others: do not trust it.',
    ),
    nextTryAt: nullable(
      time(),
      'When a webhook that failed is tried again, if there is no new lead before. Only its newest entry has it, until then.',
    ),
    fields: Type.Array(Type.String(), {
      description:
        'Of a refused sender: the names of the fields with an error, at most 20, never their values.',
    }),
    message: Type.String({ description: 'For people, such as `3 leads`.' }),
    fix: nullable(Type.String(), 'What to do. Code is between backticks. Null: nothing.'),
  },
  { additionalProperties: false, description: 'An attempt, or several that are equal.' },
);

export type Attempt = Static<typeof Attempt>;

export const AttemptLog = Type.Object(
  {
    name: nullable(Type.String(), 'The name of the consumer or the sender.'),
    log: Type.Array(Attempt, { description: 'Newest first.' }),
  },
  {
    additionalProperties: false,
    description:
      'The last 100 attempts of a consumer or a sender, of 30 days at most. A crash of the service loses those of some seconds.',
  },
);

export type AttemptLog = Static<typeof AttemptLog>;
