import { MAX_LEADS_PER_PAGE, USER_WINDOWS } from './limits.ts';
import type { Header, Reference, Schema } from './openapi-types.ts';

interface HeaderEntry {
  /** The usual spelling; HTTP ignores the case. */
  readonly spelling: string;
  readonly description: string;
  readonly example: string | number;
  readonly schema?: Schema;
}

export const exampleRequestId = '019ca9d2-8f40-7c1e-9d55-0c3f6a1be7d4';

const POLICIES = USER_WINDOWS.map(({ name, quota, windowS }) => `"${name}";q=${quota};w=${windowS}`);
const REMAINDERS = USER_WINDOWS.map(({ name, quota, windowS }) => `"${name}";r=${quota - 1};t=${windowS}`);

/** The headers that carry part of the contract. */
export const HEADERS = {
  link: {
    spelling: 'Link',
    description:
      'The address of the next poll, `rel="next"`: its `since` is the `createdAt` of the newest lead of this page. A client can follow it for ever.',
    example: `<https://leads.example.com/automation/new-leads?since=2026-03-02T09%3A30%3A00.001Z&limit=${MAX_LEADS_PER_PAGE}>; rel="next"`,
  },
  etag: {
    spelling: 'ETag',
    description: 'Validator of this page. Send it as `If-None-Match` to get 304 while the page is unchanged.',
    example: '"kq3xUuYl5yT2s8mXb1n0Zg"',
  },
  'cache-control': {
    spelling: 'Cache-Control',
    description:
      '`private, no-cache` on polls; `private, no-store` on found leads; `no-store` on all other responses of the API.',
    example: 'private, no-cache',
  },
  vary: {
    spelling: 'Vary',
    description:
      '`Authorization`: each user sees other leads. `Prefer`: with `wait` the answer may come later and differ.',
    example: 'Authorization, Prefer',
  },
  'preference-applied': {
    spelling: 'Preference-Applied',
    description:
      'The `wait` that was honoured, in seconds, if the request has `Prefer: wait`. Absent: the service answered at once; poll again at your usual interval.',
    example: 'wait=50',
  },
  date: {
    spelling: 'Date',
    description:
      'When the page was read, in whole seconds. If the page was not full, this is a safe next `since`.',
    example: 'Mon, 02 Mar 2026 09:32:00 GMT',
  },
  'ratelimit-policy': {
    spelling: 'RateLimit-Policy',
    description:
      'The limits: `q` requests in `w` seconds, for each user, whatever number of tokens the user has.',
    example: POLICIES.join(', '),
  },
  ratelimit: {
    spelling: 'RateLimit',
    description: 'What is left: `r` requests for the next `t` seconds.',
    example: REMAINDERS.join(', '),
  },
  'retry-after': {
    spelling: 'Retry-After',
    description: 'Whole seconds after which the request passes.',
    example: 17,
    schema: { type: 'integer', minimum: 1 },
  },
  'www-authenticate': {
    spelling: 'WWW-Authenticate',
    description: 'The bearer challenge of RFC 6750. With 403 `insufficient-scope` it names the scope.',
    example: 'Bearer realm="leadtap"',
  },
  allow: {
    spelling: 'Allow',
    description: 'The methods that this path answers.',
    example: 'GET, HEAD',
  },
  'x-request-id': {
    spelling: 'X-Request-Id',
    description: 'Identifies this request in the logs of the service. Quote it when you ask for help.',
    example: exampleRequestId,
  },
} as const satisfies Readonly<Record<string, HeaderEntry>>;

export type HeaderName = keyof typeof HEADERS;

/** Some of the headers, with their values. */
export type HeaderValues = Readonly<Partial<Record<HeaderName, string>>>;

export const headerSpelling = (name: HeaderName): string => HEADERS[name].spelling;

const RATE_LIMIT: readonly HeaderName[] = ['ratelimit-policy', 'ratelimit'];
const PAGE: readonly HeaderName[] = ['link', 'etag', 'vary', 'preference-applied', 'date', ...RATE_LIMIT];
const EVERY_RESPONSE: readonly HeaderName[] = ['cache-control', 'x-request-id'];

/** The headers of a status, besides those of every response. */
const BY_STATUS: Readonly<Record<number, readonly HeaderName[]>> = {
  200: PAGE,
  304: PAGE,
  400: RATE_LIMIT,
  401: ['www-authenticate'],
  403: [...RATE_LIMIT, 'www-authenticate'],
  404: RATE_LIMIT,
  405: ['allow'],
  409: RATE_LIMIT,
  413: RATE_LIMIT,
  415: RATE_LIMIT,
  422: RATE_LIMIT,
  429: [...RATE_LIMIT, 'retry-after'],
  500: RATE_LIMIT,
  503: [...RATE_LIMIT, 'retry-after'],
};

/** The headers of a response, as OpenAPI refers to them. */
export const headersOfStatus = (status: number): Record<string, Reference> =>
  headersOf(BY_STATUS[status] ?? []);

/** These headers and those of every response, as OpenAPI refers to them. */
export function headersOf(some: readonly HeaderName[]): Record<string, Reference> {
  const names = [...some, ...EVERY_RESPONSE];
  return Object.fromEntries(
    names.map(headerSpelling).map((spelling) => [spelling, { $ref: `#/components/headers/${spelling}` }]),
  );
}

const ENTRIES: readonly HeaderEntry[] = Object.values(HEADERS);

export const componentHeaders: Readonly<Record<string, Header>> = Object.fromEntries(
  ENTRIES.map(({ spelling, description, example, schema = { type: 'string' } }) => [
    spelling,
    { description, schema, example },
  ]),
);
