/** Webhook subscriptions at `{base_url}/automation/hooks`, and their event, in the OpenAPI description. */
import {
  exampleHook,
  exampleHookChange,
  exampleHookEvent,
  exampleHookRequest,
  exampleSubscribedHook,
  sampleLead,
} from './examples.ts';
import { headersOf } from './headers.ts';
import { MAX_HOOK_BYTES, MAX_HOOKS_PER_USER } from './limits.ts';
import { acknowledgementHeaders, problemResponses } from './openapi-responses.ts';
import type { HookPathItem, Operation, Parameter, PostPathItem, Response, Webhook } from './openapi-types.ts';

const notificationUrl: Parameter = {
  name: 'X-Ms-Notification-Url',
  in: 'header',
  required: false,
  description:
    'The URL that events are sent to, as Power Automate sends it. With it, the body is ignored and may be absent.',
  schema: { type: 'string' },
  example: exampleHookRequest.url,
};

const subscribed = (description: string): Response => ({
  description,
  headers: {
    Location: {
      description: 'The URL of the subscription: send `DELETE` to it to unsubscribe.',
      schema: { type: 'string' },
      example: `https://leads.example.com/automation/hooks/${exampleHook.id}`,
    },
    ...acknowledgementHeaders(),
  },
  content: {
    'application/json': {
      schema: { $ref: '#/components/schemas/SubscribedHook' },
      examples: { hook: { summary: 'A subscription', value: exampleSubscribedHook } },
    },
  },
});

export const hooksPath = (requestId: Parameter): PostPathItem => ({
  parameters: [notificationUrl, requestId],
  post: {
    operationId: 'subscribeHook',
    summary: 'Subscribe a webhook',
    description: `From now on, the service sends the event \`leads.available\` to the URL when there are new leads that the user may see. The event contains no lead: it tells the receiver to poll. With \`"send": "lead"\`, it sends each lead instead. The same URL and \`send\` of the same token again is the same subscription, enabled again. It ends with its token. A user may have ${MAX_HOOKS_PER_USER}. The token needs the scope \`leads:read\`; the body may have ${MAX_HOOK_BYTES / 1024} KiB. It counts as a request. If the operator has switched webhooks off (\`LEADTAP_HOOKS=off\`), the response is 404.`,
    tags: ['hooks'],
    security: [{ bearer: [] }],
    requestBody: {
      required: false,
      description: 'The subscription. Ignored if the URL is in a header.',
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/HookRequest' },
          examples: { hook: { summary: 'A subscription', value: exampleHookRequest } },
        },
      },
    },
    responses: {
      200: subscribed('The token has this subscription already. It is enabled again.'),
      201: subscribed('The subscription is stored.'),
      ...problemResponses('subscribe'),
    },
  },
});

const id: Parameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'The id of the subscription.',
  schema: { type: 'string' },
  example: exampleHook.id,
};

const readResponses: Readonly<Record<string, Response>> = {
  200: {
    description: 'The subscription.',
    headers: acknowledgementHeaders(),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Hook' },
        examples: { hook: { summary: 'Its last event was accepted', value: exampleHook } },
      },
    },
  },
  ...problemResponses('list'),
};

const read: Operation = {
  operationId: 'readHook',
  summary: 'Read the state of a webhook subscription',
  description: 'Only with the token that has subscribed it. It counts as a request.',
  tags: ['hooks'],
  security: [{ bearer: [] }],
  responses: readResponses,
};

export const hookPath = (requestId: Parameter): HookPathItem => ({
  parameters: [id, requestId],
  get: read,
  head: {
    ...read,
    operationId: 'headHook',
    summary: 'Get the headers of the state of a webhook subscription',
    description: 'Answers as `GET` does, with the same status and headers, without a body.',
    responses: Object.fromEntries(
      Object.entries(readResponses).map(([status, { description, headers }]) => [
        status,
        { description, headers },
      ]),
    ),
  },
  patch: {
    operationId: 'renameHook',
    summary: 'Rename a webhook subscription',
    description:
      'Only with the token that has subscribed it. Other fields of the body are ignored. It counts as a request.',
    tags: ['hooks'],
    security: [{ bearer: [] }],
    requestBody: {
      required: true,
      description: 'The new name.',
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/HookChange' },
          examples: { name: { summary: 'Another name', value: exampleHookChange } },
        },
      },
    },
    responses: {
      200: {
        description: 'The subscription, with its new name.',
        headers: acknowledgementHeaders(),
        content: {
          'application/json': {
            schema: { $ref: '#/components/schemas/Hook' },
            examples: {
              hook: { summary: 'The renamed subscription', value: { ...exampleHook, ...exampleHookChange } },
            },
          },
        },
      },
      ...problemResponses('rename'),
    },
  },
  delete: {
    operationId: 'unsubscribeHook',
    summary: 'Unsubscribe a webhook',
    description:
      'Needs no token: who knows the id may delete it. The response is the same if there is no such subscription.',
    tags: ['hooks'],
    security: [],
    responses: {
      204: { description: 'There is no such subscription any more.', headers: headersOf([]) },
      ...problemResponses('unsubscribe'),
    },
  },
});

const eventHeader = (name: string, description: string, example: string): Parameter => ({
  ...{ name, in: 'header', required: true, description },
  ...{ schema: { type: 'string' }, example },
});

interface WebhookParts extends Pick<Operation, 'operationId' | 'summary' | 'description'> {
  readonly schema: string;
  readonly example: object;
  /** What repetitions with the same `webhook-id` are of. */
  readonly repeated: string;
  readonly gone: string;
}

/** What a receiver gets, and how the service takes its response. */
const webhook = ({ schema, example, repeated, gone, ...operation }: WebhookParts): Webhook => ({
  post: {
    ...operation,
    tags: ['hooks'],
    security: [],
    parameters: [
      eventHeader('webhook-id', `The same for repetitions of one ${repeated}.`, 'msg_q3Wb0y2Tg0m5o1Rk8vQe7A'),
      eventHeader('webhook-timestamp', 'When this attempt was sent, in seconds since 1970.', '1772443900'),
      eventHeader(
        'webhook-signature',
        'As in Standard Webhooks: `v1,` and base64 of HMAC-SHA256 over `{webhook-id}.{webhook-timestamp}.{body}`. Several are separated by spaces; one of them must match.',
        'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
      ),
    ],
    requestBody: {
      required: true,
      description: `The ${repeated}.`,
      content: {
        'application/json': {
          schema: { $ref: `#/components/schemas/${schema}` },
          examples: { [repeated]: { summary: operation.summary, value: example } },
        },
      },
    },
    responses: {
      '2XX': { description: 'Accepted. The body is not read.', headers: {} },
      410: { description: gone, headers: {} },
      default: { description: `The ${repeated} is sent again later.`, headers: {} },
    },
  },
});

export const leadsAvailable = webhook({
  operationId: 'leadsAvailable',
  summary: 'There are new leads',
  description:
    'Sent to the URL of a subscription with `"send": "event"`. Check the signature, poll from your own position or from `since` to `through`, and answer 2xx within 10 seconds. An event without such an answer is sent again.',
  ...{ schema: 'HookEvent', example: exampleHookEvent, repeated: 'event' },
  gone: 'The subscription is deleted.',
});

const CARRIED =
  'Answer 2xx within 10 seconds when you have stored it. The next request begins then. Without such an answer, it is sent again: at least once, in order, never skipped.';
const DISABLED = 'The subscription is disabled, and keeps its position. Subscribe again to continue.';

export const leadCreated = webhook({
  operationId: 'leadCreated',
  summary: 'A new lead',
  description: `Sent to the URL of a subscription with \`"send": "lead"\`. The body is the lead as a poll returns it. ${CARRIED}`,
  ...{ schema: 'Lead', example: sampleLead, repeated: 'lead' },
  gone: DISABLED,
});
