import type { TSchema } from 'typebox';
import { HEADERS, type HeaderName, PROBLEM_MEDIA_TYPE } from './headers.ts';
import { exampleLead, Lead, LeadStatus } from './lead.ts';
import {
  ParameterError,
  PROBLEM_CODES,
  PROBLEMS,
  Problem,
  type ProblemCode,
  problemType,
} from './problems.ts';
import { NewLeadsQuery } from './query.ts';

/** Where the endpoint stands below `{base_url}`. */
export const NEW_LEADS_PATH = '/automation/new-leads';

const RATE_LIMIT_HEADERS = ['ratelimit-policy', 'ratelimit'] as const;
const PAGE_HEADERS = ['link', 'etag', 'cache-control', 'vary', 'date', ...RATE_LIMIT_HEADERS] as const;

/** What each status of the endpoint carries besides its body. */
const STATUS_HEADERS: Record<number, readonly HeaderName[]> = {
  400: RATE_LIMIT_HEADERS,
  401: ['www-authenticate'],
  403: RATE_LIMIT_HEADERS,
  404: RATE_LIMIT_HEADERS,
  405: ['allow'],
  429: [...RATE_LIMIT_HEADERS, 'retry-after'],
  503: ['retry-after'],
};

const HEADER_EXAMPLES: Partial<Record<HeaderName, string>> = {
  etag: '"kq3xUuYl5yT2s8mXb1n0Zg"',
  link: '<https://leads.example.com/automation/new-leads?since=2026-03-02T09%3A30%3A00.001Z&limit=100>; rel="next"',
  date: 'Mon, 02 Mar 2026 09:32:00 GMT',
  'cache-control': 'private, no-cache',
  vary: 'Authorization',
  'ratelimit-policy': '"minute";q=100;w=60, "hour";q=1000;w=3600',
  ratelimit: '"minute";r=99;t=60, "hour";r=999;t=3600',
  'retry-after': '17',
  'www-authenticate': 'Bearer realm="leadtap"',
  allow: 'GET, HEAD',
  'x-request-id': '019ca9d2-8f40-7c1e-9d55-0c3f6a1be7d4',
};

/** The codes that only other paths, or no path at all, answer with. */
const NOT_OF_THE_ENDPOINT: ReadonlySet<ProblemCode> = new Set(['no-such-resource']);

/** Schemas that stand under `components` by name instead of being repeated in place. */
const COMPONENTS: Record<string, TSchema> = { Lead, LeadStatus, Problem, ParameterError };

function reference(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(reference);
  if (typeof schema !== 'object' || schema === null) return schema;
  const name = Object.keys(COMPONENTS).find((key) => COMPONENTS[key] === schema);
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
  return inside(schema);
}

const inside = (schema: object): object =>
  Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, reference(value)]));

function headers(names: readonly HeaderName[]) {
  const all = [...names, 'x-request-id' as const];
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

export function exampleProblem(code: ProblemCode): Problem {
  const { status, title, detail } = PROBLEMS[code];
  const problem = { type: problemType(code), title, status, detail, code, requestId: exampleRequestId };
  if (code === 'invalid-query')
    return { ...problem, errors: [{ parameter: 'limit', detail: 'Give a whole number of at least 1.' }] };
  if (code === 'rate-limit-exceeded') return { ...problem, violatedPolicies: ['minute'] };
  return problem;
}

const exampleRequestId = '019ca9d2-8f40-7c1e-9d55-0c3f6a1be7d4';

function problemResponse(status: number) {
  const codes = PROBLEM_CODES.filter(
    (code) => PROBLEMS[code].status === status && !NOT_OF_THE_ENDPOINT.has(code),
  );
  const examples = Object.fromEntries(codes.map((code) => [code, { value: exampleProblem(code) }]));
  return {
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}.`).join(' '),
    headers: headers(STATUS_HEADERS[status] ?? []),
    content: { [PROBLEM_MEDIA_TYPE]: { schema: { $ref: '#/components/schemas/Problem' }, examples } },
  };
}

function responses(problemStatuses: readonly number[]) {
  return {
    200: {
      description: 'The leads, at most 100.',
      headers: headers(PAGE_HEADERS),
      content: {
        'application/json': {
          schema: { type: 'array', maxItems: 100, items: { $ref: '#/components/schemas/Lead' } },
          examples: {
            leads: { summary: 'One new lead', value: [exampleLead] },
            none: { summary: 'Nothing new', value: [] },
          },
        },
      },
    },
    304: {
      description: 'The page is still the one whose `ETag` was sent as `If-None-Match`.',
      headers: headers(PAGE_HEADERS),
    },
    ...Object.fromEntries(problemStatuses.map((status) => [status, problemResponse(status)])),
  };
}

function queryParameters() {
  return Object.entries(NewLeadsQuery.properties).map(([name, schema]) => {
    const { description, examples, ...rest }: Record<string, unknown> = schema;
    const [example] = Array.isArray(examples) ? examples : [];
    return { name, in: 'query', required: false, description, schema: rest, example };
  });
}

function operation(operationId: string, summary: string) {
  const statuses = [...new Set(PROBLEM_CODES.map((code) => PROBLEMS[code].status))].sort((a, b) => a - b);
  return {
    operationId,
    summary,
    description:
      'Without `since`: the newest leads, newest first. With `since`: the leads that directly follow it, oldest first. Poll every 2 minutes; follow `Link` or remember the last `createdAt`; drop what you have seen by `automation_trigger_id`.',
    tags: ['leads'],
    security: [{ bearer: [] }],
    parameters: [
      ...queryParameters(),
      {
        name: 'If-None-Match',
        in: 'header',
        required: false,
        description: 'The `ETag` of an earlier answer.',
        schema: { type: 'string' },
        example: HEADER_EXAMPLES.etag,
      },
    ],
    responses: responses(statuses),
  };
}

/** The OpenAPI 3.1 description, made from the very schemas that validate. */
export function openApiDocument(version: string, serverUrl: string) {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Leadtap',
      version,
      summary: 'New leads on tap.',
      description:
        'One polling endpoint that returns the new leads of a lead-management service to an automation platform, and never loses one.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: serverUrl, description: 'This installation' }],
    tags: [{ name: 'leads', description: 'New leads, for polling.' }],
    paths: {
      [NEW_LEADS_PATH]: {
        get: operation('pollNewLeads', 'Poll new leads'),
        head: operation('headNewLeads', 'The headers of a poll, without the leads'),
      },
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
      headers: Object.fromEntries(
        Object.entries(HEADERS).map(([name, description]) => [
          name,
          { description, schema: { type: 'string' }, example: HEADER_EXAMPLES[name as HeaderName] },
        ]),
      ),
      schemas: Object.fromEntries(
        Object.entries(COMPONENTS).map(([name, schema]) => [name, inside(schema)]),
      ),
    },
  };
}

export type OpenApiDocument = ReturnType<typeof openApiDocument>;
