import { PROBLEM_MEDIA_TYPE } from './headers.ts';
import { exampleLead } from './lead.ts';
import { componentHeaders, exampleRequestId, headersOf } from './openapi-headers.ts';
import { type ComponentName, componentSchemas, openApiSchema } from './openapi-schemas.ts';
import type { MediaType, OpenApi, Operation, Parameter, Response, Server } from './openapi-types.ts';
import { PROBLEM_CODES, PROBLEMS, type Problem, type ProblemCode, problemType } from './problems.ts';
import { MAX_LEADS_PER_PAGE, NewLeadsQuery, SINCE_EXAMPLE } from './query.ts';

/** Where the endpoint stands below `{base_url}`. */
export const NEW_LEADS_PATH = '/automation/new-leads';

export type OpenApiDocument = OpenApi<typeof NEW_LEADS_PATH, ComponentName>;

const EXAMPLE_ERROR = `Give an ISO 8601 date-time, such as ${SINCE_EXAMPLE}.`;

export function exampleProblem(code: ProblemCode): Problem {
  const { status, title, detail } = PROBLEMS[code];
  const problem = { type: problemType(code), title, status, detail, code, requestId: exampleRequestId };
  if (code === 'invalid-query')
    return { ...problem, errors: [{ parameter: 'since', detail: EXAMPLE_ERROR }] };
  if (code === 'rate-limit-exceeded') return { ...problem, violatedPolicies: ['minute'] };
  return problem;
}

const page: MediaType = {
  schema: { type: 'array', maxItems: MAX_LEADS_PER_PAGE, items: { $ref: '#/components/schemas/Lead' } },
  examples: {
    leads: { summary: 'One new lead', value: [exampleLead] },
    none: { summary: 'Nothing new', value: [] },
  },
};

const codesOf = (status: number) => PROBLEM_CODES.filter((code) => PROBLEMS[code].status === status);

const problemStatuses = [...new Set(PROBLEM_CODES.map((code) => PROBLEMS[code].status))];

function problems(status: number): MediaType {
  const examples = codesOf(status).map((code) => [
    code,
    { summary: PROBLEMS[code].title, value: exampleProblem(code) },
  ]);
  return { schema: { $ref: '#/components/schemas/Problem' }, examples: Object.fromEntries(examples) };
}

function problemResponse(status: number): Response {
  const description = codesOf(status).map((code) => `- \`${code}\`: ${PROBLEMS[code].title}.`);
  return {
    description: description.join('\n'),
    headers: headersOf(status),
    content: { [PROBLEM_MEDIA_TYPE]: problems(status) },
  };
}

const responses: Readonly<Record<string, Response>> = {
  200: {
    description: `The leads, at most ${MAX_LEADS_PER_PAGE}.`,
    headers: headersOf(200),
    content: { 'application/json': page },
  },
  304: {
    description: 'The page is still the one whose `ETag` was sent as `If-None-Match`.',
    headers: headersOf(304),
  },
  ...Object.fromEntries(problemStatuses.map((status) => [status, problemResponse(status)])),
};

function withoutContent({ description, headers }: Response): Response {
  return { description, headers };
}

/** An answer to HEAD has the status and the headers of the answer to GET, and never a body. */
const headResponses = Object.fromEntries(
  Object.entries(responses).map(([status, response]) => [status, withoutContent(response)]),
);

function queryParameters(): readonly Parameter[] {
  return Object.entries(NewLeadsQuery.properties).map(([name, property]) => {
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
 * describes any: that is the committed `openapi.json`.
 */
export function openApiDocument(version: string, serverUrl?: string): OpenApiDocument {
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
    tags: [{ name: 'leads', description: 'New leads, for polling.' }],
    paths: {
      [NEW_LEADS_PATH]: { parameters: [...queryParameters(), ifNoneMatch, requestId], get: poll, head },
    },
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'A token from `leadtap token issue`, or of the identity provider of the operator.',
        },
      },
      headers: componentHeaders,
      schemas: componentSchemas,
    },
  };
}
