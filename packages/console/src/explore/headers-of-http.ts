import type { HeaderTexts } from './header-texts.ts';

/** Headers that are not part of the contract but of HTTP. Other ones come from a proxy. */
export const HEADERS_OF_HTTP: HeaderTexts = {
  'content-type': {
    spelling: 'Content-Type',
    description:
      'The form of the body: `application/json` for leads, `application/problem+json` for a problem.',
  },
  'content-length': { spelling: 'Content-Length', description: 'The size of the body in bytes.' },
  'content-encoding': { spelling: 'Content-Encoding', description: 'How the body is compressed.' },
  'x-content-type-options': {
    spelling: 'X-Content-Type-Options',
    description: '`nosniff`: browsers take the body for nothing else than `Content-Type` says.',
  },
  connection: {
    spelling: 'Connection',
    description: 'Whether the connection stays open for the next request.',
  },
  'keep-alive': {
    spelling: 'Keep-Alive',
    description: 'How long an idle connection stays open, in seconds.',
  },
};
