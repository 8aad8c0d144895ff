import { formatCount } from './format-count.ts';
import {
  IDEMPOTENCY_KEY_DAYS,
  MAX_HEADER_BYTES,
  MAX_HOOK_BYTES,
  MAX_HOOK_NAME_LENGTH,
  MAX_HOOK_URL_LENGTH,
  MAX_HOOKS_PER_USER,
  MAX_INTAKE_BYTES,
  MAX_INTAKE_LEADS,
  RATE_LIMITS,
  USER_LIMITS_TEXT,
} from './limits.ts';
import { SINCE_EXAMPLE } from './query.ts';

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/** The operations of the API, in groups that have the same problems. `list` also reads a hook. */
export type ProblemOperation =
  | 'poll'
  | 'find'
  | 'log'
  | 'list'
  | 'intake'
  | 'subscribe'
  | 'rename'
  | 'connection'
  | 'handled'
  | 'unsubscribe';

type Operations = readonly ProblemOperation[];

const WITH_QUERY: Operations = ['poll', 'find', 'log'];
const WITH_BODY: Operations = ['intake', 'subscribe', 'rename', 'connection'];
const WITH_PLAN: Operations = [...WITH_QUERY, 'list', 'subscribe', 'rename', 'connection', 'handled'];
const WITH_TOKEN: Operations = [...WITH_PLAN, 'intake'];
const ALL: Operations = [...WITH_TOKEN, 'unsubscribe'];

/** All texts are Markdown with code spans only. */
export interface ProblemEntry {
  readonly status: number;
  /** That may answer with it: openapi.json names it there. */
  readonly operations: Operations;
  readonly title: string;
  /** The default text of the response, if the case has no more specific one. Says what to do. */
  readonly detail: string;
  /** The texts of single cases. */
  readonly details?: Readonly<Record<string, string>>;
  /** For docs/errors.md and the page at `/docs`, like `integrator`. What the title does not say. */
  readonly meaning?: string;
  /** What the person who polls does about it. */
  readonly integrator: string;
  /** What the person who runs the service does about it, if anything. */
  readonly operator?: string;
}

const { intake, intakeLeads, failedTokens } = RATE_LIMITS;
const MAX_LEADS = formatCount(MAX_INTAKE_LEADS);

const LIST_ORIGIN =
  'For http or another port, ask the operator to add the whole origin to `LEADTAP_HOOK_HOSTS`, such as `http://127.0.0.1:5678`.';

/** Every problem that the service responds with. A code never changes its meaning. */
export const PROBLEMS = {
  'invalid-query': {
    status: 400,
    operations: WITH_QUERY,
    title: 'The query is not valid',
    detail: 'Correct the parameters listed under `errors`.',
    meaning: 'A query parameter has an invalid value, or was given twice.',
    integrator: 'Correct the parameters that `errors` names, with a valid example for each.',
  },
  'malformed-request': {
    status: 400,
    operations: ALL,
    title: 'The request is malformed',
    detail: 'The request is not well-formed HTTP or its address is not well-formed. Check its encoding.',
    meaning: 'The request, its address, its body or its `Idempotency-Key` is not well-formed.',
    integrator: 'Let your platform encode the parameters and the body.',
  },
  'token-missing': {
    status: 401,
    operations: WITH_TOKEN,
    title: 'An access token is required',
    detail: 'Send the header `Authorization: Bearer <ACCESS_TOKEN>`.',
    meaning: 'The request has no `Authorization` header, or one without a bearer token.',
    integrator:
      'Send the header `Authorization: Bearer <ACCESS_TOKEN>`: in most platforms, set it in the connection or credential of the step.',
    operator: 'If clients send the header, check whether a proxy removes it.',
  },
  'token-invalid': {
    status: 401,
    operations: WITH_TOKEN,
    title: 'The access token is not valid',
    detail: 'The token was not accepted. Ask the operator of this service for a new one.',
    meaning:
      'The token is incomplete, or was not signed by a key of this service or of its identity provider.',
    integrator:
      'Paste the complete token again, without quotes, spaces and line breaks. Many platforms add the word `Bearer` themselves: write it once. If that does not help, ask the operator for a new token.',
    operator:
      'Issue a new token with `leadtap token issue --user ID`. If all tokens fail, the signing key has changed, or the settings of the identity provider do not match.',
  },
  'token-expired': {
    status: 401,
    operations: WITH_TOKEN,
    title: 'The access token has expired',
    detail: 'The token was valid but has expired. Ask the operator of this service for a new one.',
    integrator: 'Ask the operator for a new token. Continue with your last `since`: nothing is lost.',
    operator:
      'Issue a new token; `--expires-in` sets its lifetime. If new tokens are expired, compare the clocks of the issuer and of this service.',
  },
  'token-revoked': {
    status: 401,
    operations: WITH_TOKEN,
    title: 'The access token was revoked',
    detail: 'The token was revoked. Ask the operator of this service for a new one.',
    integrator: 'Ask the operator for a new token. Continue with your last `since`: nothing is lost.',
    operator: '`leadtap token list --user ID` shows the tokens of a user. A revocation cannot be undone.',
  },
  'professional-plan-required': {
    status: 403,
    operations: WITH_PLAN,
    title: 'The Professional plan is required',
    detail: 'Polling new leads is part of the Professional plan. Upgrade the plan of this user.',
    integrator:
      'Ask for the Professional plan for this user. Then continue with your last `since`: you get the leads that arrived meanwhile.',
    operator: 'No lead is lost. If the user has bought the plan: `leadtap user set ID --plan PROFESSIONAL`.',
  },
  'insufficient-scope': {
    status: 403,
    operations: WITH_TOKEN,
    title: 'The scope of the access token is not sufficient',
    detail:
      'The token is valid, but was not issued for this. Use a token with the scope that `WWW-Authenticate` names.',
    meaning:
      'Polls need the scope `leads:read`, which a token without scopes has. To send leads needs `leads:write`.',
    integrator:
      'Ask the operator for a token with the scope that `WWW-Authenticate` names. Use one token to poll and another one to send leads.',
    operator:
      'Run `leadtap token issue --user ID --scope leads:write`. For tokens of your identity provider, add the scope to their claim `scope`.',
  },
  'user-not-found': {
    status: 404,
    operations: WITH_TOKEN,
    title: 'The user does not exist',
    detail: 'The token is valid, but its user does not exist (any more).',
    integrator: 'Ask the operator whether the user was removed, and for a token of an existing user.',
    operator:
      '`leadtap user list` shows the users, `leadtap org apply FILE` adds them. In tokens of your identity provider, `sub` must be the id of the user.',
  },
  'no-such-resource': {
    status: 404,
    operations: ALL,
    title: 'There is nothing at this address',
    detail: 'The new leads are at {base_url}/automation/new-leads. Check the base address and its path.',
    integrator:
      'The new leads are at `{base_url}/automation/new-leads`. Check the base address: it may end in a path such as `/api`.',
    operator:
      'Compare `LEADTAP_BASE_PATH` with the path that the proxy in front passes on. `{base_url}/leads` does not exist with `LEADTAP_INTAKE=off`, `{base_url}/automation/hooks` not with `LEADTAP_HOOKS=off`.',
  },
  'method-not-allowed': {
    status: 405,
    operations: ALL,
    title: 'The method is not allowed here',
    detail: 'Use one of the methods in the `Allow` header.',
    integrator: 'To poll, use `GET` or `HEAD`. To send leads or to subscribe a webhook, use `POST`.',
  },
  'request-timeout': {
    status: 408,
    operations: ALL,
    title: 'The request took too long to arrive',
    detail: 'Send the whole request at once and try again.',
    integrator: 'Send it again. If it happens often, check the network.',
  },
  'payload-too-large': {
    status: 413,
    operations: WITH_BODY,
    title: 'The body of the request is too large',
    detail: `Send at most ${MAX_INTAKE_BYTES / 1024 / 1024} MiB in one request. Split the leads into several requests.`,
    meaning: `The body is larger than ${MAX_INTAKE_BYTES / 1024 / 1024} MiB, or than ${MAX_HOOK_BYTES / 1024} KiB for a webhook subscription. Nothing of it was stored.`,
    integrator: 'Split the leads into several requests. Send images as web addresses, not as data.',
  },
  'unsupported-media-type': {
    status: 415,
    operations: WITH_BODY,
    title: 'The media type of the body is not supported',
    detail:
      'Send leads as `Content-Type: application/json` in UTF-8, or one lead as `application/x-www-form-urlencoded` or `multipart/form-data`, without `Content-Encoding`.',
    meaning:
      'The body is neither JSON nor (for leads) a form, is not UTF-8, or is compressed. Nothing was stored.',
    integrator: 'Set the header `Content-Type: application/json` and send JSON.',
  },
  'invalid-lead': {
    status: 422,
    operations: ['intake'],
    title: 'At least one lead is not valid',
    detail: 'Correct the fields listed under `errors`. No lead of the request was stored.',
    meaning: `At least one lead has an invalid field, or lies outside the access level of the user; or the body is not 1 to ${MAX_LEADS} leads. No lead of the request was stored.`,
    integrator:
      'Correct what `errors` names, by the `index` of the lead (0 is the first) and its `field`, and send all leads again.',
    operator:
      '`leadtap connections --in` says for each which fields were refused, and what to do. `leadtap org apply` adds an unknown branch, department or status; `leadtap user list` shows the access level of the user.',
  },
  'idempotency-key-reused': {
    status: 422,
    operations: ['intake'],
    title: 'The Idempotency-Key was used for another request',
    detail:
      'This token has sent this `Idempotency-Key` before, with another body, with another access level of its user, or too long ago. Nothing was stored or changed. Send new leads with a new key.',
    meaning: `The same token has sent this \`Idempotency-Key\` before, with another body or another access level of its user, or more than ${IDEMPOTENCY_KEY_DAYS} days ago. Nothing was stored or changed.`,
    integrator:
      'Use a new key, such as a UUID, for each request, and the same key only to repeat it without a change.',
  },
  'id-of-another-person': {
    status: 422,
    operations: ['intake'],
    title: 'The id is that of another person',
    detail:
      'There is a lead with this `id`, and its name, e-mail address and phone number are different. Nothing was stored or changed. Send a different `id` for each enquiry, or none.',
    meaning:
      'There is a lead with this `id`. It and the lead that was sent both have a name, an e-mail address or a phone number, and none that both have is the same. Some senders have one `id` for all people, such as that of their form. Nothing was stored or changed.',
    integrator:
      'Send an `id` that is different for each enquiry, or none. To correct a lead, send its name, its e-mail address or its phone number as it was.',
    operator: '`leadtap leads refused accept ID` stores the refused request as a new lead, under a new id.',
  },
  'no-contact': {
    status: 422,
    operations: ['intake'],
    title: 'The form has no name, e-mail address or phone number',
    detail:
      'No answer of the form was recognised as a name, an e-mail address or a phone number. Nothing was stored. Use a token that names the question: `leadtap token issue --source SERVICE --map QUESTION=email`.',
    meaning:
      'The token was issued for a form service, and none of the answers of this webhook is a name, an e-mail address or a phone number. `errors` names the questions.',
    integrator:
      'Ask the operator for a token that names the field of a question. If the form asks for none of them, add a question.',
    operator:
      'Issue a new token for the same form service, such as `leadtap token issue --user ID --source tally --map QUESTION=email`. Store the requests that were refused with `leadtap leads refused accept --all --map QUESTION=email`.',
  },
  'connection-polls': {
    status: 409,
    operations: ['connection'],
    title: 'This connection polls',
    detail:
      'Leads can be sent, and be paused, only for a connection that is sent leads by webhook. This one polls: it gets what it asks for.',
    integrator: 'Ask for the leads again with an earlier `since`, or send them to a webhook.',
  },
  'too-many-hooks': {
    status: 409,
    operations: ['subscribe'],
    title: 'The user has too many webhook subscriptions',
    detail: `This user has ${MAX_HOOKS_PER_USER} webhook subscriptions, which is the maximum. Delete one that you do not need.`,
    meaning: `The user has ${MAX_HOOKS_PER_USER} webhook subscriptions, with all tokens together. The new one was not stored.`,
    integrator:
      'Turn off automations that you do not need, or delete their subscriptions. Polling gets the same leads.',
    operator:
      'Give each automation its own user. `leadtap token revoke ID` ends all subscriptions of a token.',
  },
  'invalid-hook': {
    status: 422,
    operations: ['subscribe', 'rename'],
    title: 'The webhook subscription is not valid',
    detail: 'Send a JSON object such as {"url":"https://hooks.zapier.com/hooks/standard/1/a"}.',
    details: {
      'url-too-long': `The \`url\` is longer than ${formatCount(MAX_HOOK_URL_LENGTH)} characters.`,
      'url-not-ascii':
        'The `url` has characters that a URL cannot contain. Percent-encode them; write the host in ASCII.',
      'url-not-parsed': 'The `url` is not a URL. Send it whole, such as https://….',
      'url-with-password': 'The `url` contains a user name or a password. Remove it.',
      'url-with-fragment': 'The `url` contains a fragment. Remove the `#` and what follows.',
      'url-not-https': `The \`url\` does not begin with \`https://\`. Write \`https://\`. ${LIST_ORIGIN}`,
      'url-with-port': `The \`url\` has a port. Webhooks are sent to port 443 only. ${LIST_ORIGIN}`,
      'url-not-plain': 'The `url` does not begin with `https://` and a plain host name.',
      'send-unknown':
        'The `send` is neither `event` nor `lead`. For many leads in a response, choose `event`, and poll.',
      'since-not-a-time': `The \`since\` is not an ISO 8601 date-time, such as ${SINCE_EXAMPLE}.`,
      'since-in-future': 'The `since` is in the future: leads until then would never be sent.',
      'name-not-valid': `The \`name\` is not a text of 1 to ${MAX_HOOK_NAME_LENGTH} characters without control characters.`,
    },
    meaning: `The \`url\` is not a plain https URL of at most ${formatCount(MAX_HOOK_URL_LENGTH)} characters (without a user, a fragment and a port), \`since\` is not an ISO 8601 date-time, or is in the future although leads are sent, \`send\` is neither \`event\` nor \`lead\`, or \`name\` is not a text of 1 to ${MAX_HOOK_NAME_LENGTH} characters.`,
    integrator: 'The answer says what is wrong: correct it, and send the subscription again.',
    operator:
      'To allow http, another port or an IP address, add the whole origin to `LEADTAP_HOOK_HOSTS`, such as `http://127.0.0.1:5678`.',
  },
  'hook-host-not-allowed': {
    status: 422,
    operations: ['subscribe'],
    title: 'Webhooks to this host are not allowed',
    detail:
      'This service sends webhooks only to hosts that its operator allows. Ask the operator to add the host of the URL to `LEADTAP_HOOK_HOSTS`.',
    meaning:
      'The host of the URL is neither one of a platform that Leadtap knows, nor one that the operator has added.',
    integrator:
      'Check the URL. If it is right, ask the operator to add its host to `LEADTAP_HOOK_HOSTS`. Until then, poll: you get the same leads.',
    operator:
      'If you trust the host, add it to `LEADTAP_HOOK_HOSTS`, such as `n8n.example.com` or `*.example.org`, and start the service again.',
  },
  'rate-limit-exceeded': {
    status: 429,
    operations: ALL,
    title: 'Too many requests',
    detail: 'Wait for the seconds given in `Retry-After`, then continue. Polling every 2 minutes is enough.',
    meaning: `\`violatedPolicies\` names the limit: more than ${USER_LIMITS_TEXT} of the user; more than ${intake.quota} requests that send leads (\`${intake.name}\`) or ${formatCount(intakeLeads.quota)} leads (\`${intakeLeads.name}\`) in a minute; 8 unfinished ones (\`uploads\`); more than 10 unfinished searches, lists and logs (\`lists\`); more than ${failedTokens.quota} invalid tokens in a minute from one address (\`${failedTokens.name}\`).`,
    integrator:
      'Send the same request again after the seconds in `Retry-After`. Nothing is lost. Polling every 2 minutes stays far below the limits. To send many leads, send arrays.',
    operator: 'The limits are part of the contract. If automations need more, give each its own user.',
  },
  'headers-too-large': {
    status: 431,
    operations: ALL,
    title: 'The request headers are too large',
    detail: `Send fewer or shorter headers: together at most ${MAX_HEADER_BYTES / 1024} KiB.`,
    integrator: 'Send fewer or shorter headers. Cookies are the usual cause.',
    operator: 'If the tokens of your identity provider are the cause, remove claims from them.',
  },
  'internal-error': {
    status: 500,
    operations: ALL,
    title: 'Something went wrong on our side',
    detail: 'The request was valid. Try again. If the error continues, give the operator the request id.',
    integrator:
      'Send the same request again later; leads with the same `id` or `Idempotency-Key`. If the error continues, give the operator the `requestId`.',
    operator: 'The log has the cause, by request id. `leadtap doctor` checks the installation.',
  },
  unavailable: {
    status: 503,
    operations: ALL,
    title: 'The service cannot answer right now',
    detail: 'Nothing is lost. Try again after the seconds given in `Retry-After`.',
    meaning:
      'The database or the keys of the identity provider are unreachable, or the service is overloaded or shutting down.',
    integrator:
      'Send the same request again after the seconds in `Retry-After`; leads with the same `id` or `Idempotency-Key`, so that none is added twice. A poll loses nothing.',
    operator:
      'The log has the cause. `/readyz` answers 200 when the service is ready again; `leadtap doctor` says what to fix.',
  },
} as const satisfies Record<string, ProblemEntry>;

export type ProblemCode = keyof typeof PROBLEMS;

/** The cases of `invalid-hook`. */
export type InvalidHook = keyof (typeof PROBLEMS)['invalid-hook']['details'];

export const PROBLEM_CODES = Object.keys(PROBLEMS) as readonly ProblemCode[];

/** The `type` of a problem: a stable name that is the same in every installation. */
export const problemType = (code: ProblemCode): string => `urn:problem-type:leadtap:${code}`;
