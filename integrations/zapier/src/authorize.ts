import { type BeforeRequestMiddleware, version as coreVersion } from 'zapier-platform-core';
import { VERSION } from './version.ts';

/** So that the operator sees in the log who polls. */
const USER_AGENT = `zapier-leadtap/${VERSION} zapier-platform-core/${coreVersion}`;

export const authorize: BeforeRequestMiddleware = (request, _z, bundle) => ({
  ...request,
  headers: {
    ...request.headers,
    accept: 'application/json',
    authorization: `Bearer ${bundle.authData['token']?.trim()}`,
    'user-agent': USER_AGENT,
  },
});
