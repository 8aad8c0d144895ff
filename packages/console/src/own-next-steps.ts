/** Next steps for people who have a token and build no requests. */
export const OWN_NEXT_STEPS: Readonly<Record<string, string>> = {
  'token-missing': 'Paste the token that you were given.',
  'token-invalid':
    'Copy the whole token again, from its first to its last character. If that does not help, ask the operator for a new one.',
  'token-expired': 'Ask the operator for a new token and paste it here. No lead is lost meanwhile.',
  'token-revoked': 'Ask the operator for a new token and paste it here. No lead is lost meanwhile.',
  'professional-plan-required':
    'Ask for the Professional plan for this user. You then also get the leads that arrive until then.',
  'insufficient-scope':
    'This token was issued for something else, such as sending leads. Ask the operator for a token that may read leads.',
  'no-such-resource': 'Ask the operator to check the address of the service.',
  'rate-limit-exceeded':
    'All programs with a token of this user count together, and so does this page. Nothing is lost: it continues by itself.',
  'internal-error': 'Try again later. If it stays like this, give the operator the number of the request.',
  unavailable: 'It may be starting again. The page tries again by itself, and nothing is lost.',
};
