/** `POST {base_url}/leads` in the OpenAPI description. */

import { exampleNewLead, exampleWrittenLeads } from './examples.ts';
import { formatCount } from './format-count.ts';
import {
  IDEMPOTENCY_KEY_DAYS,
  MAX_IDEMPOTENCY_KEY_LENGTH,
  MAX_INTAKE_BYTES,
  MAX_INTAKE_LEADS,
  RATE_LIMITS,
} from './limits.ts';
import { acknowledgementHeaders, problemResponses } from './openapi-responses.ts';
import type { MediaType, Parameter, PostPathItem, Response, Schema } from './openapi-types.ts';

const newLead: Schema = { $ref: '#/components/schemas/NewLead' };
const leads: Schema = { type: 'array', minItems: 1, maxItems: MAX_INTAKE_LEADS, items: newLead };

const form: MediaType = {
  schema: {
    type: 'object',
    description:
      'The fields of one lead as texts; custom fields as `customFields.name`. Empty fields count as absent.',
    additionalProperties: { type: 'string' },
  },
  examples: {
    form: {
      summary: 'A web form',
      value: { firstName: 'Ada', email: 'ada@example.com', 'customFields.source': 'web form' },
    },
  },
};

const idempotencyKey: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: `A text that is new for each request, such as a UUID: 1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} printable ASCII characters. Leads without an \`id\` get one that is derived from it, so that the same request sent again adds and changes nothing, and gets the same response for ${IDEMPOTENCY_KEY_DAYS} days. The key with another body is 422 \`idempotency-key-reused\`.`,
  schema: { type: 'string' },
  example: '0b7d1f6e-3c39-4d5e-a7ce-9c1c9b4a3f10',
};

function acknowledgement(description: string): Response {
  return {
    description,
    headers: acknowledgementHeaders(),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/WrittenLeads' },
        examples: { leads: { summary: 'One lead was stored', value: exampleWrittenLeads } },
      },
    },
  };
}

const MAX_LEADS = formatCount(MAX_INTAKE_LEADS);

export const intakePath = (requestId: Parameter): PostPathItem => ({
  parameters: [idempotencyKey, requestId],
  post: {
    operationId: 'sendLeads',
    summary: 'Send leads',
    description: `The token needs the scope \`leads:write\`. Send one lead, or an array of up to ${MAX_LEADS}, in at most ${MAX_INTAKE_BYTES / 1024 / 1024} MiB. Either all leads of the request are stored, or none; the response is sent after they are durable. The same \`id\` again is an update. To be able to repeat a request without adding leads twice, give each lead an \`id\`, or send an \`Idempotency-Key\`. Each user may send ${RATE_LIMITS.intake.quota} requests a minute. With \`LEADTAP_INTAKE=off\`, the response is 404.`,
    tags: ['leads'],
    security: [{ bearer: [] }],
    requestBody: {
      required: true,
      description: 'One lead or several as JSON, or one lead as an HTML form.',
      content: {
        'application/json': {
          schema: { oneOf: [newLead, leads] },
          examples: {
            one: { summary: 'One lead', value: exampleNewLead },
            several: {
              summary: 'Several leads',
              value: [exampleNewLead, { id: 'web-4712', fullName: 'Grace Hopper', phone1: '+1 555 0100' }],
            },
          },
        },
        'application/x-www-form-urlencoded': form,
        'multipart/form-data': form,
      },
    },
    responses: {
      200: acknowledgement('All leads of the request existed already, and were updated.'),
      201: acknowledgement('The leads are stored. At least one of them is new.'),
      ...problemResponses('intake'),
    },
  },
});
