interface RateLimit {
  readonly name: string;
  /** Requests, or leads, in the window. */
  readonly quota: number;
  readonly windowS: number;
}

/** The rate limits. The texts about them are made from these numbers. */
export const RATE_LIMITS = {
  /** For each user, over all tokens of the user. */
  minute: { name: 'minute', quota: 100, windowS: 60 },
  /** For each user, over all tokens of the user. */
  hour: { name: 'hour', quota: 1000, windowS: 3600 },
  /** For each user, over all tokens of the user: requests that send leads. Polls are not counted. */
  intake: { name: 'intake', quota: 600, windowS: 60 },
  /** For each user, over all tokens of the user: leads that are sent. */
  intakeLeads: { name: 'intake-leads', quota: 30_000, windowS: 60 },
  /** For each client address; only rejected tokens count. */
  failedTokens: { name: 'failed-tokens', quota: 600, windowS: 60 },
} as const satisfies Record<string, RateLimit>;

/** The windows in which each request of a user counts. */
export const USER_WINDOWS: readonly RateLimit[] = [RATE_LIMITS.minute, RATE_LIMITS.hour];

export const USER_LIMITS_TEXT: string = `${RATE_LIMITS.minute.quota} requests per minute and ${RATE_LIMITS.hour.quota} per hour`;

/** All headers of a request together. */
export const MAX_HEADER_BYTES = 16 * 1024;

/** A page never has more leads; it is also the default of `limit`. */
export const MAX_LEADS_PER_PAGE = 100;
/** The characters of a text to search for, and of each text of a lead that is searched: they bound the time. */
export const MAX_SEARCH_LENGTH = 200;
export const MIN_LEADS_PER_PAGE = 1;

/** One request that sends leads. */
export const MAX_INTAKE_LEADS = 1000;
export const MAX_INTAKE_BYTES = 1024 * 1024;
export const MAX_IDEMPOTENCY_KEY_LENGTH = 255;
/** So long a key is remembered, with the result of its request. */
export const IDEMPOTENCY_KEY_DAYS = 30;

/** Webhook subscriptions. */
export const MAX_HOOKS_PER_USER = 20;
export const MAX_HOOK_URL_LENGTH = 2000;
export const MAX_HOOK_NAME_LENGTH = 100;
export const MAX_HOOK_BYTES = 16 * 1024;

/** `Prefer: wait`, in seconds. Proxies end a request after 60 s by default. */
export const MIN_WAIT_S = 1;
export const MAX_WAIT_S = 50;
