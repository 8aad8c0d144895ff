import { MAX_HEADER_BYTES, RATE_LIMITS } from './limits.ts';
import type { ProblemCode } from './problems.ts';

const { minute, hour, failedTokens } = RATE_LIMITS;

/** What people need to know about a problem. Markdown with code spans only. */
export interface ProblemGuide {
  readonly meaning: string;
  /** What to do for whoever polls. */
  readonly integrator: string;
  /** What to do for whoever runs the service. */
  readonly operator: string;
}

/** docs/errors.md and the page at `/docs` are made of this. */
export const PROBLEM_GUIDE: Readonly<Record<ProblemCode, ProblemGuide>> = {
  'invalid-query': {
    meaning:
      'A query parameter has a value that is not accepted, or was given twice. It is neither guessed nor ignored, because a misread `since` would lose leads.',
    integrator:
      'Read `errors`: it names every bad parameter and says what a right one looks like. Correct the request; sent again as it is, it fails again.',
    operator: 'Nothing to do.',
  },
  'malformed-request': {
    meaning: 'The request is not well-formed HTTP, or its address is not well-formed.',
    integrator: 'Let your platform encode the parameters instead of writing the address by hand.',
    operator:
      'Nothing to do for a single one. Many at once are a scanner, or a proxy that speaks TLS to the plain HTTP port.',
  },
  'token-missing': {
    meaning: 'The request came without a bearer token: no `Authorization` header, or one of another scheme.',
    integrator:
      'Send the header `Authorization: Bearer <ACCESS_TOKEN>`. In most platforms it belongs into the connection or credential of the step. The token is never read from the query.',
    operator: 'If clients do send the header, look for a proxy that removes it.',
  },
  'token-invalid': {
    meaning:
      'The token is not one that this service accepts: it was cut or altered, was made by another issuer or for another audience, or is signed with a key that is not known here.',
    integrator:
      'Paste the token again, whole, without quotes, spaces and line breaks. Many platforms add the word `Bearer` themselves: write it once, not twice. If that does not help, ask the operator for a new one.',
    operator:
      'Issue a new one with `leadtap token issue --user ID`. If all tokens fail at once, the signing key has changed (`LEADTAP_SIGNING_KEY`, `LEADTAP_SIGNING_KEY_FILE` or the data folder), or `LEADTAP_JWKS_URL`, `LEADTAP_TOKEN_ISSUER` and `LEADTAP_TOKEN_AUDIENCE` do not fit your identity provider.',
  },
  'token-expired': {
    meaning: 'The token was good, but its time is over.',
    integrator:
      'Ask the operator for a new token and put it into the connection. Go on with the `since` you had: nothing is lost.',
    operator:
      'Issue a new one; `--expires-in` sets its life. If fresh tokens count as expired, compare the clocks of the issuer and of this service.',
  },
  'token-revoked': {
    meaning: 'The token was withdrawn before its time was over.',
    integrator: 'Ask the operator for a new token. Go on with the `since` you had: nothing is lost.',
    operator:
      '`leadtap token list --user ID` shows the tokens of a user. A revoked token cannot be brought back: issue a new one.',
  },
  'professional-plan-required': {
    meaning: 'The token is good and its user exists, but is not on the Professional plan.',
    integrator:
      'Ask for the Professional plan for this user. Then go on with the `since` you had: the leads that came meanwhile are delivered.',
    operator: '`leadtap user set ID --plan PROFESSIONAL`. The next request passes.',
  },
  'user-not-found': {
    meaning: 'The token is valid, but its user does not exist here, or not any more.',
    integrator: 'Ask the operator whether the user was removed, and for a token of a user who exists.',
    operator:
      '`leadtap user list` shows the users, `leadtap org apply FILE` adds them. In tokens of your identity provider, `sub` must be the id of the user.',
  },
  'no-such-resource': {
    meaning: 'There is nothing at this address.',
    integrator:
      'The new leads are at `{base_url}/automation/new-leads`. Check the base address: it may end in a path such as `/api`.',
    operator: 'Compare `LEADTAP_BASE_PATH` with the path that the proxy in front passes on.',
  },
  'method-not-allowed': {
    meaning: 'The address exists, but does not answer this method.',
    integrator: 'Use `GET`, or `HEAD` for the headers alone.',
    operator: 'Nothing to do. Leads are never changed over HTTP; `leadtap leads import` brings them in.',
  },
  'request-timeout': {
    meaning: 'The request did not arrive whole in time.',
    integrator: 'Send it again. If it happens often, look at the network in between.',
    operator:
      'Nothing to do for a few. Many from few addresses are connections that are held open on purpose: limit them in the proxy.',
  },
  'rate-limit-exceeded': {
    meaning: `The user made more than ${minute.quota} requests in a minute or ${hour.quota} in an hour, all tokens taken together; \`violatedPolicies\` names the limit. \`${failedTokens.name}\` there means more than ${failedTokens.quota} bad tokens in a minute from one address.`,
    integrator:
      'Wait for the seconds given in `Retry-After`, then send the same request again: it passes both limits, and nothing is lost. Polling every 2 minutes stays far below them.',
    operator:
      'Nothing to do: the limits are part of the contract. Automations that need more want a user each.',
  },
  'headers-too-large': {
    meaning: `The headers of the request are larger than ${MAX_HEADER_BYTES / 1024} KiB together.`,
    integrator: 'Send fewer or shorter headers. Cookies are the usual cause; the service needs none.',
    operator: 'If the tokens of your identity provider are the cause, leave claims out of them.',
  },
  'internal-error': {
    meaning: 'The service failed. The request was fine.',
    integrator:
      'Send the same request again later: nothing is lost. If it stays, give the operator the `requestId`.',
    operator:
      'Look for the request id in the log: the cause stands there. `leadtap doctor` checks the installation.',
  },
  unavailable: {
    meaning:
      'The service cannot answer right now: its database or the keys of the identity provider are out of reach, it has too much to do, or it is shutting down.',
    integrator:
      'Wait for the seconds given in `Retry-After`, then send the same request again: nothing is lost.',
    operator:
      'Look at the log: the cause stands there. `/readyz` answers 200 again when all is well; `leadtap doctor` says what to mend.',
  },
};
