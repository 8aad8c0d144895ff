import { randomBytes } from 'node:crypto';
import { createPollHandler, loadSigningKeys, makeVerifyToken, systemClock } from 'leadtap';
import { listen, makeStubStore } from '../../../../testing/harness/endpoint.ts';
import { LONG_JWKS_TIMING } from '../../../../testing/harness/timeouts.ts';
import type { JwksTiming } from '../../../src/accounts/external-tokens.ts';
import { AUDIENCE, type IdentityProvider, ISSUER } from './identity-provider.ts';

export const pollWith = (baseUrl: string, token: string): Promise<Response> =>
  fetch(`${baseUrl}/automation/new-leads`, { headers: { authorization: `Bearer ${token}` } });

/** `200`, or the status and the code of the problem. */
export async function outcome(response: Response): Promise<string> {
  const body: unknown = await response.json();
  const isProblem = typeof body === 'object' && body !== null && 'code' in body;
  return isProblem ? `${response.status} ${body.code}` : String(response.status);
}

/** The endpoint alone, with the timing of the identity provider set by the test. */
export async function startEndpoint({ url }: IdentityProvider, timing: Partial<JwksTiming> = {}) {
  const verifyToken = makeVerifyToken({
    keys: await loadSigningKeys({ secrets: [randomBytes(32).toString('base64')] }),
    external: {
      jwks: { kind: 'url', url },
      issuer: ISSUER,
      audience: AUDIENCE,
      timing: { ...LONG_JWKS_TIMING, ...timing },
    },
    clock: systemClock,
  });
  const { url: baseUrl } = await listen(createPollHandler({ store: makeStubStore(), verifyToken }));
  return { poll: (token: string) => pollWith(baseUrl, token) };
}
