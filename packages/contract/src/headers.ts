/** The names and meanings of the headers that carry part of the contract. */
export const HEADERS = {
  etag: 'Validator of this page. Send it as `If-None-Match` to get 304 while the page is unchanged.',
  link: 'The address of the next poll, `rel="next"`: its `since` is the `createdAt` of the newest lead of this page. A client can follow it for ever.',
  date: 'The moment of the answer, cut to the second. Every lead that was not in a page that was not full is created later, so it is a safe next `since`.',
  'cache-control': '`private, no-cache` on leads, `no-store` on problems.',
  vary: '`Authorization`: each user sees other leads.',
  'ratelimit-policy':
    'The limits: `q` requests in `w` seconds, for each user, whatever number of tokens the user has.',
  ratelimit: 'What is left: `r` requests for the next `t` seconds.',
  'retry-after': 'Whole seconds after which the request passes.',
  'www-authenticate': 'The bearer challenge of RFC 6750.',
  allow: 'The methods that this path answers.',
  'x-request-id': 'Identifies this request in the logs of the service. Quote it when you ask for help.',
} as const;

export type HeaderName = keyof typeof HEADERS;

/** Some of the headers, with their values. */
export type HeaderValues = Readonly<Partial<Record<HeaderName, string>>>;

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';
