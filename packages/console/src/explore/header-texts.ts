import { headers as ofContract } from '../contract-texts.json';

/** Headers that are not part of the contract but of HTTP. Other ones come from a proxy. */
const OF_HTTP: Readonly<Record<string, { readonly spelling: string; readonly description: string }>> = {
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

const FROM_A_PROXY = 'Not a header of Leadtap: a proxy in front of it has added it.';

export interface ExplainedHeader {
  readonly name: string;
  readonly value: string;
  readonly description: string;
}

const KNOWN: ReadonlyMap<string, { readonly spelling: string; readonly description: string }> = new Map([
  ...Object.entries(ofContract),
  ...Object.entries(OF_HTTP),
]);

/** All headers of a response, each with what it means: those of the contract first, those of proxies last. */
export function explainHeaders(headers: Headers): ExplainedHeader[] {
  const order = [...KNOWN.keys()];
  const rank = (name: string): number => (order.includes(name) ? order.indexOf(name) : order.length);
  return [...headers]
    .sort(([one], [other]) => rank(one) - rank(other))
    .map(([name, value]) => {
      const known = KNOWN.get(name);
      return { name: known?.spelling ?? name, value, description: known?.description ?? FROM_A_PROXY };
    });
}
