/** The path of the endpoint below `{base_url}`. */
export const NEW_LEADS_PATH = '/automation/new-leads';

/** The path below `{base_url}` where leads are listed backwards and searched. */
export const FIND_LEADS_PATH = '/automation/leads';

/** The path below `{base_url}` of all ways in and out, and of one of them: of its log, and of what can be done with it. */
export const CONNECTIONS_PATH = '/automation/connections';
export const CONNECTION_PATH = `${CONNECTIONS_PATH}/{id}` as const;
export const CONNECTION_LOG_PATH = `${CONNECTION_PATH}/log` as const;
export const CONNECTION_SEND_PATH = `${CONNECTION_PATH}/send` as const;
export const CONNECTION_HANDLED_PATH = `${CONNECTION_PATH}/handled` as const;

/** The path below `{base_url}` of webhook subscriptions. That of one subscription ends in `/` and its id. */
export const HOOKS_PATH = '/automation/hooks';

/** What a webhook subscription sends. */
export const HOOK_SENDS = ['event', 'lead'] as const;
export type HookSend = (typeof HOOK_SENDS)[number];

/** The path below `{base_url}` that leads are sent to. */
export const LEADS_PATH = '/leads';

/**
 * The lexical form of `since`: ISO 8601, wide enough for what clients really send. `T` may be lower-case or a
 * space; the `+` of an offset may have become a space on its way through a form-encoded query string.
 * A pattern cannot hold calendar rules (30 February, 25 o'clock): the server checks them after it.
 */
export const SINCE_PATTERN =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(?:([Zz])|([+\- ])(\d{2})(?::?(\d{2}))?)?)?$/;

export const SINCE_EXAMPLE = '2026-03-02T09:30:00.000Z';

interface SinceForm {
  readonly form: string;
  readonly example: string;
  /** The moment that the example names, as Leadtap reads it. */
  readonly readAs: string;
}

/** Every form of `since` that is accepted, with an example of each: for documentation and tests. */
export const SINCE_FORMS: readonly SinceForm[] = [
  { form: 'UTC', example: '2026-03-02T09:30:00.000Z', readAs: '2026-03-02T09:30:00.000Z' },
  { form: 'any offset', example: '2026-03-02T11:30:00+02:00', readAs: '2026-03-02T09:30:00.000Z' },
  { form: 'offset without a colon', example: '2026-03-02T04:30:00-0500', readAs: '2026-03-02T09:30:00.000Z' },
  { form: 'offset of hours alone', example: '2026-03-02T11:30:00+02', readAs: '2026-03-02T09:30:00.000Z' },
  {
    form: 'un-encoded `+`, which arrives as a space',
    example: '2026-03-02T11:30:00 02:00',
    readAs: '2026-03-02T09:30:00.000Z',
  },
  { form: 'no offset: read as UTC', example: '2026-03-02T09:30:00', readAs: '2026-03-02T09:30:00.000Z' },
  { form: 'no seconds', example: '2026-03-02T09:30Z', readAs: '2026-03-02T09:30:00.000Z' },
  { form: 'date alone: midnight UTC', example: '2026-03-02', readAs: '2026-03-02T00:00:00.000Z' },
  {
    form: 'up to 9 fraction digits: cut to milliseconds',
    example: '2026-03-02T09:30:00.123987654Z',
    readAs: '2026-03-02T09:30:00.123Z',
  },
  { form: 'space instead of `T`', example: '2026-03-02 09:30:00Z', readAs: '2026-03-02T09:30:00.000Z' },
  { form: 'lower-case letters', example: '2026-03-02t09:30:00z', readAs: '2026-03-02T09:30:00.000Z' },
];

/** The console marks its requests with this header: they are polls like any other, but make no connection. */
export const CLIENT_HEADER = 'leadtap-client';
export const CONSOLE_CLIENT = 'console';
/** The page of the console has this header if the service sends webhooks. */
export const HOOKS_HEADER = 'leadtap-hooks';
