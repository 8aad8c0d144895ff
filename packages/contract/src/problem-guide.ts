import { MAX_HEADER_BYTES, RATE_LIMITS } from './limits.ts';
import type { ProblemCode } from './problems.ts';

const { minute, hour, failedTokens } = RATE_LIMITS;

/** Explains a problem to people. Markdown with code spans only. */
export interface ProblemGuide {
  readonly meaning: string;
  /** What the person who polls should do. */
  readonly integrator: string;
  /** What the person who runs the service should do. */
  readonly operator: string;
}

/** docs/errors.md and the page at `/docs` are generated from this. */
export const PROBLEM_GUIDE: Readonly<Record<ProblemCode, ProblemGuide>> = {
  'invalid-query': {
    meaning:
      'A query parameter has an invalid value, or was given twice. It is not ignored, because a misread `since` would lose leads.',
    integrator:
      'Read `errors`: it names every invalid parameter, with a valid example. Correct the request; a retry without a change fails again.',
    operator: 'Nothing to do.',
  },
  'malformed-request': {
    meaning: 'The request is not well-formed HTTP, or its address is not well-formed.',
    integrator: 'Let your platform encode the parameters. Do not write the address by hand.',
    operator:
      'Nothing to do for a single request. Many at once come from a scanner, or from a proxy that uses TLS on the plain HTTP port.',
  },
  'token-missing': {
    meaning: 'The request has no bearer token: no `Authorization` header, or one with another scheme.',
    integrator:
      'Send the header `Authorization: Bearer <ACCESS_TOKEN>`. In most platforms you set it in the connection or credential of the step. The token is never read from the query.',
    operator: 'If clients send the header, check whether a proxy removes it.',
  },
  'token-invalid': {
    meaning:
      'This service does not accept the token: it is incomplete or changed, was issued by another issuer or for another audience, or is signed with an unknown key.',
    integrator:
      'Paste the complete token again, without quotes, spaces and line breaks. Many platforms add the word `Bearer` themselves: write it once, not twice. If that does not help, ask the operator for a new token.',
    operator:
      'Issue a new token with `leadtap token issue --user ID`. If all tokens fail at once, the signing key has changed (`LEADTAP_SIGNING_KEY`, `LEADTAP_SIGNING_KEY_FILE` or the data folder), or `LEADTAP_JWKS_URL`, `LEADTAP_TOKEN_ISSUER` and `LEADTAP_TOKEN_AUDIENCE` do not match your identity provider.',
  },
  'token-expired': {
    meaning: 'The token was valid, but has expired.',
    integrator:
      'Ask the operator for a new token and put it into the connection. Continue with your `since`: nothing is lost.',
    operator:
      'Issue a new token; `--expires-in` sets its lifetime. If new tokens are rejected as expired, compare the clocks of the issuer and of this service.',
  },
  'token-revoked': {
    meaning: 'The token was revoked before it expired.',
    integrator: 'Ask the operator for a new token. Continue with your `since`: nothing is lost.',
    operator:
      '`leadtap token list --user ID` shows the tokens of a user. A revocation cannot be undone: issue a new token.',
  },
  'professional-plan-required': {
    meaning: 'The token is valid and its user exists, but the user is not on the Professional plan.',
    integrator:
      'Ask for the Professional plan for this user. Then continue with your `since`: you get the leads that arrived meanwhile.',
    operator: 'Run `leadtap user set ID --plan PROFESSIONAL`. The next request succeeds.',
  },
  'user-not-found': {
    meaning: 'The token is valid, but its user does not exist, or was removed.',
    integrator: 'Ask the operator whether the user was removed, and for a token of an existing user.',
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
    meaning: 'The address exists, but does not support this method.',
    integrator: 'Use `GET`, or `HEAD` for the headers alone.',
    operator: 'Nothing to do. Leads cannot be changed over HTTP; use `leadtap leads import`.',
  },
  'request-timeout': {
    meaning: 'The complete request did not arrive in time.',
    integrator: 'Send it again. If it happens often, check the network.',
    operator:
      'Nothing to do for a few requests. Many from few addresses may be an attack with slow connections: limit them in the proxy.',
  },
  'rate-limit-exceeded': {
    meaning: `The user made more than ${minute.quota} requests in a minute or ${hour.quota} in an hour, with all tokens together; \`violatedPolicies\` names the limit. \`${failedTokens.name}\` means more than ${failedTokens.quota} invalid tokens in a minute from one address.`,
    integrator:
      'Wait for the seconds in `Retry-After`, then send the same request again: it passes both limits, and nothing is lost. Polling every 2 minutes stays far below the limits.',
    operator:
      'Nothing to do: the limits are part of the contract. If automations need more, give each its own user.',
  },
  'headers-too-large': {
    meaning: `The headers of the request together are larger than ${MAX_HEADER_BYTES / 1024} KiB.`,
    integrator: 'Send fewer or shorter headers. Cookies are the usual cause; the service does not need them.',
    operator: 'If the tokens of your identity provider are the cause, remove claims from them.',
  },
  'internal-error': {
    meaning: 'The service failed. The request was valid.',
    integrator:
      'Send the same request again later: nothing is lost. If the error continues, give the operator the `requestId`.',
    operator:
      'Search for the request id in the log, which has the cause. `leadtap doctor` checks the installation.',
  },
  unavailable: {
    meaning:
      'The service cannot answer right now: its database or the keys of the identity provider are unreachable, it is overloaded, or it is shutting down.',
    integrator: 'Wait for the seconds in `Retry-After`, then send the same request again: nothing is lost.',
    operator:
      'The log has the cause. `/readyz` is 200 again when the service can answer; `leadtap doctor` says what to fix.',
  },
};
