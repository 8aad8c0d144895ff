import { HEADERS, type HeaderName } from './headers.ts';
import { RATE_LIMITS } from './limits.ts';
import type { Header, Reference, Schema } from './openapi-types.ts';
import { MAX_LEADS_PER_PAGE } from './query.ts';

interface HeaderForm {
  /** How people write the name; HTTP does not mind the case. */
  readonly spelling: string;
  readonly example: string | number;
  readonly schema?: Schema;
}

export const exampleRequestId = '019ca9d2-8f40-7c1e-9d55-0c3f6a1be7d4';

const { minute, hour } = RATE_LIMITS;
const POLICIES = [minute, hour].map(({ name, quota, windowS }) => `"${name}";q=${quota};w=${windowS}`);
const REMAINDERS = [minute, hour].map(({ name, quota, windowS }) => `"${name}";r=${quota - 1};t=${windowS}`);

const FORMS: Readonly<Record<HeaderName, HeaderForm>> = {
  link: {
    spelling: 'Link',
    example: `<https://leads.example.com/automation/new-leads?since=2026-03-02T09%3A30%3A00.001Z&limit=${MAX_LEADS_PER_PAGE}>; rel="next"`,
  },
  etag: { spelling: 'ETag', example: '"kq3xUuYl5yT2s8mXb1n0Zg"' },
  'cache-control': { spelling: 'Cache-Control', example: 'private, no-cache' },
  vary: { spelling: 'Vary', example: 'Authorization' },
  date: { spelling: 'Date', example: 'Mon, 02 Mar 2026 09:32:00 GMT' },
  'ratelimit-policy': { spelling: 'RateLimit-Policy', example: POLICIES.join(', ') },
  ratelimit: { spelling: 'RateLimit', example: REMAINDERS.join(', ') },
  'retry-after': { spelling: 'Retry-After', example: 17, schema: { type: 'integer', minimum: 1 } },
  'www-authenticate': { spelling: 'WWW-Authenticate', example: 'Bearer realm="leadtap"' },
  allow: { spelling: 'Allow', example: 'GET, HEAD' },
  'x-request-id': { spelling: 'X-Request-Id', example: exampleRequestId },
};

const NAMES = Object.keys(FORMS) as readonly HeaderName[];

export const headerSpelling = (name: HeaderName): string => FORMS[name].spelling;

const RATE_LIMIT: readonly HeaderName[] = ['ratelimit-policy', 'ratelimit'];
const PAGE: readonly HeaderName[] = ['link', 'etag', 'vary', 'date', ...RATE_LIMIT];

/** What a status carries besides the headers of every answer. */
const OF_STATUS: Readonly<Record<number, readonly HeaderName[]>> = {
  200: PAGE,
  304: PAGE,
  400: RATE_LIMIT,
  401: ['www-authenticate'],
  403: RATE_LIMIT,
  404: RATE_LIMIT,
  405: ['allow'],
  429: [...RATE_LIMIT, 'retry-after'],
  500: RATE_LIMIT,
  503: [...RATE_LIMIT, 'retry-after'],
};

const OF_EVERY_ANSWER: readonly HeaderName[] = ['cache-control', 'x-request-id'];

export function headersOf(status: number): Record<string, Reference> {
  const names = [...(OF_STATUS[status] ?? []), ...OF_EVERY_ANSWER];
  return Object.fromEntries(
    names.map(headerSpelling).map((spelling) => [spelling, { $ref: `#/components/headers/${spelling}` }]),
  );
}

export const componentHeaders: Readonly<Record<string, Header>> = Object.fromEntries(
  NAMES.map((name) => {
    const { spelling, example, schema = { type: 'string' } } = FORMS[name];
    return [spelling, { description: HEADERS[name], schema, example }];
  }),
);
