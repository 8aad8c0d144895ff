/** `{base_url}/automation/connections` in the OpenAPI description. */
import { exampleConnectionLog, exampleConnections, exampleLeadConnections } from './examples.ts';
import { acknowledgementHeaders, problemResponses } from './openapi-responses.ts';
import type {
  Operation,
  Parameter,
  PatchPathItem,
  PathItem,
  PostPathItem,
  Response,
} from './openapi-types.ts';
import type { ProblemOperation } from './problems.ts';

interface ListDescription extends Pick<Operation, 'operationId' | 'summary' | 'description'> {
  readonly head: Pick<Operation, 'operationId' | 'summary'>;
  readonly ok: Pick<Response, 'description' | 'content'>;
}

/** A list of the API. */
function listPath(
  { ok, head, ...list }: ListDescription,
  parameters: readonly Parameter[],
  operation: ProblemOperation = 'list',
): PathItem {
  const responses: Readonly<Record<string, Response>> = {
    200: { ...ok, headers: acknowledgementHeaders() },
    ...problemResponses(operation),
  };
  const get: Operation = { ...list, tags: ['leads'], security: [{ bearer: [] }], responses };
  return {
    parameters,
    get,
    head: {
      ...get,
      ...head,
      description: 'Answers as `GET` does, with the same status and headers, without a body.',
      responses: Object.fromEntries(
        Object.entries(responses).map(([status, { description, headers }]) => [
          status,
          { description, headers },
        ]),
      ),
    },
  };
}

const OWN = 'Only with a token of the user of the connection: others use a command. It counts as a request.';

export const connectionsPath = (requestId: Parameter): PathItem =>
  listPath(
    {
      operationId: 'listConnections',
      summary: 'List all ways in and out',
      description:
        'The connections of the user; with the access level COMPANY, of the whole company: what each was sent, what waits for it, was missed, held and lost, and what to do. With `lead`, what became of one lead. The token needs the scope `leads:read`. It counts as a request.',
      head: { operationId: 'headConnections', summary: 'Get the headers of the list of connections' },
      ok: {
        description: 'The connections, the worst first.',
        content: {
          'application/json': {
            schema: {
              oneOf: [
                { $ref: '#/components/schemas/Connections' },
                { $ref: '#/components/schemas/LeadConnections' },
              ],
            },
            examples: {
              connections: { summary: 'One way in, one way out', value: exampleConnections },
              lead: { summary: 'What became of a lead', value: exampleLeadConnections },
            },
          },
        },
      },
    },
    [
      {
        name: 'lead',
        in: 'query',
        required: false,
        description: 'The `id` of a lead. The response then has what became of it.',
        schema: { type: 'string' },
        example: exampleLeadConnections.lead,
      },
      requestId,
    ],
  );

const id: Parameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'The `id` in the list.',
  schema: { type: 'string' },
  example: exampleConnections.out[0]?.id,
};

export const connectionLogPath = (query: readonly Parameter[], requestId: Parameter): PathItem =>
  listPath(
    {
      operationId: 'readConnectionLog',
      summary: 'Read the log of a connection',
      description:
        'What it was sent or has sent, when, and why it was refused: the last 100 entries, newest first. There are counts, times and ids of leads that the user may see, and no other data of leads. The token needs the scope `leads:read`. It counts as a request. A crash of the service loses the entries of some seconds.',
      head: { operationId: 'headConnectionLog', summary: 'Get the headers of the log of a connection' },
      ok: {
        description: 'The log.',
        content: {
          'application/json': {
            schema: { $ref: '#/components/schemas/ConnectionLog' },
            examples: { log: { summary: 'Leads, and polls without leads', value: exampleConnectionLog } },
          },
        },
      },
    },
    [id, ...query, requestId],
    'log',
  );

interface Change extends Pick<Operation, 'operationId' | 'summary' | 'description'> {
  readonly schema?: string;
  readonly example?: object;
  readonly answers: Readonly<Record<string, Response>>;
  readonly problems?: ProblemOperation;
}

const change = ({ schema, example, answers, problems = 'connection', ...operation }: Change): Operation => ({
  ...operation,
  tags: ['leads'],
  security: [{ bearer: [] }],
  ...(schema !== undefined && {
    requestBody: {
      required: true,
      description: 'What to do.',
      content: {
        'application/json': {
          schema: { $ref: `#/components/schemas/${schema}` },
          examples: { change: { summary: operation.summary, value: example } },
        },
      },
    },
  }),
  responses: { ...answers, ...problemResponses(problems) },
});

const answered = (description: string, value?: object): Response => ({
  description,
  headers: acknowledgementHeaders(),
  ...(value !== undefined && {
    content: {
      'application/json': {
        schema: { type: 'object' },
        examples: { answer: { summary: description, value } },
      },
    },
  }),
});

export const connectionPath = (requestId: Parameter): PatchPathItem => ({
  parameters: [id, requestId],
  patch: change({
    operationId: 'changeConnection',
    summary: 'Rename or pause a connection',
    description: `Its keys get the name, too. Webhooks alone can be paused: they keep their place. ${OWN}`,
    ...{ schema: 'ConnectionChange', example: { name: 'CRM' } },
    answers: { 200: answered('The connection.', { id: id.example, name: 'CRM', paused: false }) },
  }),
});

export const connectionSendPath = (requestId: Parameter): PostPathItem => ({
  parameters: [id, requestId],
  post: change({
    operationId: 'sendAgain',
    summary: 'Send leads to a webhook, again or for the first time',
    description: `In order, beside new ones, with new values of \`webhook-id\`. ${OWN}`,
    ...{ schema: 'SendAgain', example: { missed: true } },
    answers: { 202: answered('So many leads wait for it now.', { leads: 3 }) },
  }),
});

export const connectionHandledPath = (requestId: Parameter): PostPathItem => ({
  parameters: [id, requestId],
  post: change({
    operationId: 'markHandled',
    summary: 'Mark what a connection missed, owes or lost as handled',
    description: `Nothing is deleted. What waits is taken only if it is silent, new or ended; it is then ended until it asks again. Held requests are accepted or deleted. ${OWN}`,
    answers: { 204: answered('It is marked as handled.') },
    problems: 'handled',
  }),
});
