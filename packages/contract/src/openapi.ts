import {
  exampleConnectionLog,
  exampleConnections,
  exampleHook,
  exampleHookChange,
  exampleHookEvent,
  exampleHookRequest,
  exampleLeadConnections,
  exampleNewLead,
  exampleSubscribedHook,
  exampleWrittenLeads,
  sampleLead,
} from './examples.ts';
import { componentHeaders, exampleRequestId, headersOfStatus } from './headers.ts';
import { MAX_LEADS_PER_PAGE, MAX_WAIT_S } from './limits.ts';
import {
  connectionHandledPath,
  connectionLogPath,
  connectionPath,
  connectionSendPath,
  connectionsPath,
} from './openapi-connections.ts';
import { findPath } from './openapi-find.ts';
import { hookPath, hooksPath, leadCreated, leadsAvailable } from './openapi-hooks.ts';
import { intakePath } from './openapi-intake.ts';
import { problemResponses } from './openapi-responses.ts';
import type { MediaType, OpenApi, Operation, Parameter, Response, Schema, Server } from './openapi-types.ts';
import {
  CONNECTION_HANDLED_PATH,
  CONNECTION_LOG_PATH,
  CONNECTION_PATH,
  CONNECTION_SEND_PATH,
  CONNECTIONS_PATH,
  FIND_LEADS_PATH,
  HOOKS_PATH,
  LEADS_PATH,
  NEW_LEADS_PATH,
} from './query.ts';
import {
  ConnectionChange,
  ConnectionHour,
  ConnectionLog,
  Connections,
  FindLeadsQuery,
  Hook,
  HookChange,
  HookEvent,
  HookEventData,
  HookRequest,
  InConnection,
  Lead,
  LeadConnections,
  LeadError,
  LeadStatus,
  LogEntry,
  LogQuery,
  NewLead,
  NewLeadsQuery,
  OutConnection,
  ParameterError,
  Problem,
  SendAgain,
  SubscribedHook,
  WrittenLead,
  WrittenLeads,
} from './schemas.ts';

type ComponentName =
  | 'Lead'
  | 'LeadStatus'
  | 'Problem'
  | 'ParameterError'
  | 'LeadError'
  | 'Connections'
  | 'InConnection'
  | 'OutConnection'
  | 'ConnectionHour'
  | 'ConnectionLog'
  | 'LogEntry'
  | 'ConnectionChange'
  | 'SendAgain'
  | 'LeadConnections'
  | 'HookRequest'
  | 'HookChange'
  | 'SubscribedHook'
  | 'Hook'
  | 'HookEvent'
  | 'HookEventData';
type IntakeComponentName = 'NewLead' | 'WrittenLead' | 'WrittenLeads';

/** The schemas under `components`: wherever they occur, a reference replaces them. */
const COMPONENTS: Readonly<Record<ComponentName | IntakeComponentName, object>> = {
  ...{ Lead, LeadStatus, Problem, ParameterError, LeadError },
  ...{ NewLead, WrittenLead, WrittenLeads },
  ...{ Connections, InConnection, OutConnection, ConnectionHour, ConnectionLog, LogEntry },
  ...{ ConnectionChange, SendAgain, LeadConnections },
  ...{ HookRequest, HookChange, SubscribedHook, Hook, HookEvent, HookEventData },
};

const NAMES = Object.keys(COMPONENTS) as readonly (keyof typeof COMPONENTS)[];

type Keywords = Readonly<Record<string, unknown>>;

const isKeywords = (value: unknown): value is Keywords => typeof value === 'object' && value !== null;

/** `anyOf: [string, null]` is written `type: [string, null]`, which every OpenAPI tool shows as one type. */
function withoutNullUnion(schema: Keywords): Keywords {
  const { anyOf, ...rest } = schema;
  const [value, none, ...more] = Array.isArray(anyOf) ? anyOf : [];
  if (!isKeywords(value) || !isKeywords(none) || more.length > 0) return schema;
  if (typeof value['type'] !== 'string' || none['type'] !== 'null') return schema;
  return { ...value, type: [value['type'], 'null'], ...rest };
}

/** Our unions exclude each other, which `oneOf` tells the tools. */
function withOneOf(schema: Keywords): Keywords {
  const { anyOf, ...rest } = schema;
  return anyOf === undefined ? schema : { oneOf: anyOf, ...rest };
}

/** A map with any keys is written with `additionalProperties`, which tools know better than a pattern for all keys. */
function withoutAnyKeyPattern(schema: Keywords): Keywords {
  const { patternProperties, ...rest } = schema;
  if (!isKeywords(patternProperties) || !('^.*$' in patternProperties)) return schema;
  const values = patternProperties['^.*$'];
  const isAnything = isKeywords(values) && Object.keys(values).length === 0;
  return { ...rest, additionalProperties: isAnything ? true : values };
}

/** Later versions may add fields to what the service sends, so a generated client must accept them. What a client sends stays exact. */
function withoutClosedObject(schema: Keywords): Keywords {
  const { additionalProperties, ...rest } = schema;
  return additionalProperties === false ? rest : schema;
}

function convert(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(convert);
  if (!isKeywords(value)) return value;
  const name = NAMES.find((candidate) => COMPONENTS[candidate] === value);
  return name === undefined ? openApiSchema(value) : { $ref: `#/components/schemas/${name}` };
}

/** A TypeBox schema as OpenAPI 3.1 writes it. Apart from additional fields, it accepts the same. */
function openApiSchema(schema: object): Schema {
  const exact = withoutAnyKeyPattern(withOneOf(withoutNullUnion({ ...schema })));
  const plain = schema === NewLead ? exact : withoutClosedObject(exact);
  return Object.fromEntries(Object.entries(plain).map(([key, value]) => [key, convert(value)])) as Schema;
}

const componentSchemas: Readonly<Record<ComponentName, Schema>> = {
  Lead: { ...openApiSchema(Lead), examples: [sampleLead] },
  LeadStatus: { ...openApiSchema(LeadStatus), examples: [sampleLead.status] },
  Problem: openApiSchema(Problem),
  ParameterError: openApiSchema(ParameterError),
  LeadError: openApiSchema(LeadError),
  Connections: { ...openApiSchema(Connections), examples: [exampleConnections] },
  InConnection: openApiSchema(InConnection),
  OutConnection: openApiSchema(OutConnection),
  ConnectionHour: openApiSchema(ConnectionHour),
  ConnectionLog: { ...openApiSchema(ConnectionLog), examples: [exampleConnectionLog] },
  LogEntry: openApiSchema(LogEntry),
  ConnectionChange: { ...openApiSchema(ConnectionChange), examples: [{ name: 'CRM' }] },
  SendAgain: { ...openApiSchema(SendAgain), examples: [{ missed: true }] },
  LeadConnections: { ...openApiSchema(LeadConnections), examples: [exampleLeadConnections] },
  HookRequest: { ...openApiSchema(HookRequest), examples: [exampleHookRequest] },
  HookChange: { ...openApiSchema(HookChange), examples: [exampleHookChange] },
  SubscribedHook: { ...openApiSchema(SubscribedHook), examples: [exampleSubscribedHook] },
  Hook: { ...openApiSchema(Hook), examples: [exampleHook] },
  HookEvent: { ...openApiSchema(HookEvent), examples: [exampleHookEvent] },
  HookEventData: openApiSchema(HookEventData),
};

const intakeSchemas: Readonly<Record<IntakeComponentName, Schema>> = {
  NewLead: { ...openApiSchema(NewLead), examples: [exampleNewLead] },
  WrittenLead: openApiSchema(WrittenLead),
  WrittenLeads: { ...openApiSchema(WrittenLeads), examples: [exampleWrittenLeads] },
};

export type OpenApiDocument = OpenApi<
  typeof NEW_LEADS_PATH | typeof FIND_LEADS_PATH | typeof CONNECTIONS_PATH | typeof CONNECTION_LOG_PATH,
  typeof HOOKS_PATH,
  typeof LEADS_PATH,
  ComponentName,
  IntakeComponentName
>;

const page: MediaType = {
  schema: { type: 'array', maxItems: MAX_LEADS_PER_PAGE, items: { $ref: '#/components/schemas/Lead' } },
  examples: {
    leads: { summary: 'One new lead', value: [sampleLead] },
    none: { summary: 'Nothing new', value: [] },
  },
};

const responses: Readonly<Record<string, Response>> = {
  200: {
    description: `The leads, at most ${MAX_LEADS_PER_PAGE}.`,
    headers: headersOfStatus(200),
    content: { 'application/json': page },
  },
  304: {
    description: 'The page is still the one whose `ETag` was sent as `If-None-Match`.',
    headers: headersOfStatus(304),
  },
  ...problemResponses('poll'),
};

function withoutContent({ description, headers }: Response): Response {
  return { description, headers };
}

/** An answer to HEAD has the status and the headers of the answer to GET, and never a body. */
const headResponses = Object.fromEntries(
  Object.entries(responses).map(([status, response]) => [status, withoutContent(response)]),
);

function queryParameters(
  query: typeof NewLeadsQuery | typeof FindLeadsQuery | typeof LogQuery,
): readonly Parameter[] {
  return Object.entries(query.properties).map(([name, property]) => {
    const { description = '', examples = [], ...schema } = openApiSchema(property);
    return { name, in: 'query', required: false, description, schema, example: examples[0] };
  });
}

const ifNoneMatch: Parameter = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description:
    'The `ETag` of an earlier answer to the same request. While the page is unchanged, the answer is 304 without a body.',
  schema: { type: 'string' },
  example: componentHeaders['ETag']?.example,
};

/** The server ignores a preference that it cannot honour, so the schema has no pattern. */
const prefer: Parameter = {
  name: 'Prefer',
  in: 'header',
  required: false,
  description: `\`wait=N\` (RFC 7240), only with \`since\`: while there is no newer lead, the answer waits for one, at most N seconds, from 1 to ${MAX_WAIT_S}; more counts as ${MAX_WAIT_S}. It uses one unit of the rate limit. \`Preference-Applied\` in the answer says that it was honoured. Ignored with \`HEAD\` and without \`since\`.`,
  schema: { type: 'string' },
  example: `wait=${MAX_WAIT_S}`,
};

/** The server ignores an id of another form, so the schema has no pattern: no client has to check it. */
const requestId: Parameter = {
  name: 'X-Request-Id',
  in: 'header',
  required: false,
  description:
    'Your own id for the request: up to 128 letters, digits and `_ . : + / = -`. The answer and the log repeat it. An id of another form is replaced.',
  schema: { type: 'string' },
  example: exampleRequestId,
};

const poll: Operation = {
  operationId: 'pollNewLeads',
  summary: 'Poll new leads',
  description:
    'Without `since`: the newest leads that the user may see, newest first. With `since`: the leads that directly follow it, oldest first. Poll every 2 minutes, at once again while a page is full. Follow `Link`, or send the last `createdAt` as the next `since`; drop what you have seen by `automation_trigger_id`.',
  tags: ['leads'],
  security: [{ bearer: [] }],
  responses,
};

const head: Operation = {
  ...poll,
  operationId: 'headNewLeads',
  summary: 'Get the headers of a poll, without the leads',
  description:
    'Answers as `GET` does, with the same status and headers, without a body. It counts as a request.',
  responses: headResponses,
};

const anyInstallation: Server = {
  url: '{base_url}',
  description: 'An installation of Leadtap',
  variables: {
    base_url: {
      default: 'http://127.0.0.1:3000',
      description: 'The base address that the operator gave you, without a slash at its end.',
    },
  },
};

/**
 * The OpenAPI description, made from the schemas of this package. The server reads a query by the same numbers,
 * and tests hold its answers against the schemas. Without the address of an installation it
 * describes any: that is the committed `openapi.json`. Without `hasIntake` it leaves out what only exists where leads are accepted.
 */
export function openApiDocument(version: string, serverUrl?: string, hasIntake = true): OpenApiDocument {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Leadtap',
      version,
      summary: 'New leads on tap.',
      description:
        'One polling endpoint that returns the new leads of a lead-management service to an automation platform, and never loses one. It is for users on the Professional plan; each sees the leads of their access level.',
      contact: { name: 'The operator of the installation' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [
      serverUrl === undefined ? anyInstallation : { url: serverUrl, description: 'This installation' },
    ],
    tags: [
      { name: 'leads', description: 'New leads, for polling.' },
      { name: 'hooks', description: 'Webhooks that tell a receiver to poll, or send it the leads.' },
    ],
    paths: {
      [NEW_LEADS_PATH]: {
        parameters: [...queryParameters(NewLeadsQuery), ifNoneMatch, prefer, requestId],
        get: poll,
        head,
      },
      [FIND_LEADS_PATH]: findPath(queryParameters(FindLeadsQuery), requestId),
      [CONNECTIONS_PATH]: connectionsPath(requestId),
      [CONNECTION_PATH]: connectionPath(requestId),
      [CONNECTION_LOG_PATH]: connectionLogPath(queryParameters(LogQuery), requestId),
      [CONNECTION_SEND_PATH]: connectionSendPath(requestId),
      [CONNECTION_HANDLED_PATH]: connectionHandledPath(requestId),
      [HOOKS_PATH]: hooksPath(requestId),
      [`${HOOKS_PATH}/{id}`]: hookPath(requestId),
      ...(hasIntake && {
        [LEADS_PATH]: intakePath(requestId),
      }),
    },
    webhooks: { 'leads.available': leadsAvailable, lead: leadCreated },
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description:
            'A token from `leadtap token issue`, or of the identity provider of the operator. Polls need the scope `leads:read`, which a token without the claim `scope` has; sending leads needs `leads:write`.',
        },
      },
      headers: componentHeaders,
      schemas: { ...componentSchemas, ...(hasIntake && intakeSchemas) },
    },
  };
}
