/** `GET {base_url}/automation/consumers` and `…/senders` in the OpenAPI description. */
import { exampleAttemptLog, exampleConsumers, exampleSenders } from './examples.ts';
import { acknowledgementHeaders, problemResponses } from './openapi-responses.ts';
import type { Operation, Parameter, PathItem, Response } from './openapi-types.ts';
import type { ProblemOperation } from './problems.ts';

interface ListDescription extends Pick<Operation, 'operationId' | 'summary' | 'description'> {
  readonly head: Pick<Operation, 'operationId' | 'summary'>;
  readonly ok: Pick<Response, 'description' | 'content'>;
}

/** A list of the API. */
export function listPath(
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

const consumers: ListDescription = {
  operationId: 'listConsumers',
  summary: 'List who polls',
  description:
    'The tokens of the user that poll, when each last polled, how far it has come, and whether something is wrong with it: use it to see whether a platform that you have just connected has polled. The token needs the scope `leads:read`. It counts as a request. If the operator has switched the recording off (`LEADTAP_CONSUMERS=off`), the response is 404.',
  head: { operationId: 'headConsumers', summary: 'Get the headers of the list of consumers' },
  ok: {
    description: 'The consumers, sorted by token id.',
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Consumers' },
        examples: { consumers: { summary: 'One token polls', value: exampleConsumers } },
      },
    },
  },
};

const senders: ListDescription = {
  operationId: 'listSenders',
  summary: 'List who sends leads',
  description:
    'The tokens that send leads, when each last did, what was refused of it, and what to do: those of the user, and with the access level `COMPANY` those of the whole company. The token needs the scope `leads:read`. It counts as a request. There are names of fields, never their values. If the operator has not switched the intake on (`LEADTAP_INTAKE=on`), the response is 404.',
  head: { operationId: 'headSenders', summary: 'Get the headers of the list of senders' },
  ok: {
    description: 'The senders.',
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Senders' },
        examples: { senders: { summary: 'One token sends', value: exampleSenders } },
      },
    },
  },
};

const logOf = (who: 'consumer' | 'sender', idOf: string): ListDescription => {
  const name = who === 'consumer' ? 'Consumer' : 'Sender';
  return {
    operationId: `read${name}Log`,
    summary: `Read the log of a ${who}`,
    description: `What it has received or sent, when, and why it was refused: the last 100 attempts, of 30 days at most, newest first. There are counts and times, and no data of leads. The token needs the scope \`leads:read\`. It counts as a request. 404 for an id that is not in the list of ${idOf}. A crash of the service loses the attempts of some seconds.`,
    head: { operationId: `head${name}Log`, summary: `Get the headers of the log of a ${who}` },
    ok: {
      description: 'The log.',
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/AttemptLog' },
          examples: { log: { summary: 'Leads, and polls without leads', value: exampleAttemptLog } },
        },
      },
    },
  };
};

const id: Parameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'The `id` in the list.',
  schema: { type: 'string' },
  example: exampleConsumers.consumers[0]?.id,
};

export const consumersPath = (requestId: Parameter): PathItem => listPath(consumers, [requestId]);
export const sendersPath = (requestId: Parameter): PathItem => listPath(senders, [requestId]);
export const consumerLogPath = (query: readonly Parameter[], requestId: Parameter): PathItem =>
  listPath(logOf('consumer', 'consumers'), [id, ...query, requestId], 'log');
export const senderLogPath = (query: readonly Parameter[], requestId: Parameter): PathItem =>
  listPath(logOf('sender', 'senders'), [id, ...query, requestId], 'log');
