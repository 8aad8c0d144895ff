/** `GET {base_url}/automation/consumers` in the OpenAPI description. */
import { exampleConsumers } from './examples.ts';
import { acknowledgementHeaders, CONSUMERS_CODES, problemResponses } from './openapi-responses.ts';
import type { Operation, Parameter, PathItem, Response } from './openapi-types.ts';

const responses: Readonly<Record<string, Response>> = {
  200: {
    description: 'The consumers, sorted by token id.',
    headers: acknowledgementHeaders(),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Consumers' },
        examples: { consumers: { summary: 'One token polls', value: exampleConsumers } },
      },
    },
  },
  ...problemResponses(CONSUMERS_CODES),
};

const list: Operation = {
  operationId: 'listConsumers',
  summary: 'List who polls',
  description:
    'The tokens of the user that poll, when each last polled, how far it has come, and whether something is wrong with it: use it to see whether a platform that you have just connected has polled. The token needs the scope `leads:read`. It counts as a request. If the operator has switched the recording off (`LEADTAP_CONSUMERS=off`), the response is 404.',
  tags: ['leads'],
  security: [{ bearer: [] }],
  responses,
};

const head: Operation = {
  ...list,
  operationId: 'headConsumers',
  summary: 'Get the headers of the list of consumers',
  description: 'Answers as `GET` does, with the same status and headers, without a body.',
  responses: Object.fromEntries(
    Object.entries(responses).map(([status, { description, headers }]) => [status, { description, headers }]),
  ),
};

export const consumersPath = (requestId: Parameter): PathItem => ({
  parameters: [requestId],
  get: list,
  head,
});
