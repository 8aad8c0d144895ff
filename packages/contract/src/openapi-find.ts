/** `GET {base_url}/automation/leads` in the OpenAPI description. */
import { sampleLead } from './examples.ts';
import { MAX_LEADS_PER_PAGE } from './limits.ts';
import { acknowledgementHeaders, problemResponses } from './openapi-responses.ts';
import type { Operation, Parameter, PathItem, Response } from './openapi-types.ts';
import { FIND_LEADS_PATH } from './query.ts';

const responses: Readonly<Record<string, Response>> = {
  200: {
    description: `The leads, newest first, at most ${MAX_LEADS_PER_PAGE}.`,
    headers: {
      Link: {
        description:
          'The address of the following leads, `rel="next"`. Absent: there are no more. While it is there, a page may be short or empty: a search compares a limited number of leads, for at most 10 seconds.',
        schema: { type: 'string' },
        example: `<https://leads.example.com${FIND_LEADS_PATH}?before=2026-03-02T09:30:00.001Z&q=moreau&limit=${MAX_LEADS_PER_PAGE}>; rel="next"`,
      },
      ...acknowledgementHeaders(),
    },
    content: {
      'application/json': {
        schema: { type: 'array', maxItems: MAX_LEADS_PER_PAGE, items: { $ref: '#/components/schemas/Lead' } },
        examples: {
          leads: { summary: 'One lead', value: [sampleLead] },
          none: { summary: 'No lead in this part', value: [] },
        },
      },
    },
  },
  ...problemResponses('find'),
};

const find: Operation = {
  operationId: 'findLeads',
  summary: 'Find leads',
  description:
    'The leads that the user may see, newest first, or those with the text `q`. To get new leads, poll instead: this request is for people who look for a lead. Follow `Link` until it is absent. It counts as a request.',
  tags: ['leads'],
  security: [{ bearer: [] }],
  responses,
};

const head: Operation = {
  ...find,
  operationId: 'headLeads',
  summary: 'Get the headers of a search for leads',
  description: 'Answers as `GET` does, with the same status and headers, without a body.',
  responses: Object.fromEntries(
    Object.entries(responses).map(([status, { description, headers }]) => [status, { description, headers }]),
  ),
};

export const findPath = (query: readonly Parameter[], requestId: Parameter): PathItem => ({
  parameters: [...query, requestId],
  get: find,
  head,
});
