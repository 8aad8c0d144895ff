import { createServer } from 'node:http';
import { type AddressInfo, BlockList, isIP } from 'node:net';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import fc from 'fast-check';
import { createPollHandler, type Limiter, type TrustProxy } from 'leadtap';
import { expect, it } from 'vitest';
import { makeStubStore } from '../../../testing/harness/endpoint.ts';

const address = fc.oneof(
  fc.ipV4(),
  fc.constantFrom('10.0.0.1', '10.0.0.2', '::ffff:10.0.0.1', '127.0.0.1', 'unknown'),
);
const list = (of: fc.Arbitrary<string>) =>
  fc
    .array(of, { minLength: 1, maxLength: 4 })
    .chain((items) => fc.constantFrom(',', ', ', ' ,').map((gap) => items.join(gap)));

const trust: fc.Arbitrary<TrustProxy> = fc.oneof(
  fc.constantFrom<TrustProxy>(false, 1, 2, 3),
  fc.subarray(['10.0.0.0/8', '127.0.0.1', '192.0.2.0/24'], { minLength: 1 }),
);

const forwarded = fc.record(
  {
    'x-forwarded-for': list(address),
    'x-forwarded-host': list(fc.constantFrom('a.example', 'b.example')),
    'x-forwarded-proto': list(fc.constantFrom('http', 'https')),
  },
  { requiredKeys: [] },
);

/** Returns the key under which the handler counts a failed token, and the origin in its Link. */
async function serveHandler(trustProxy: TrustProxy) {
  const counted: string[] = [];
  const failedTokens: Limiter = {
    consume: (key) => {
      counted.push(key);
      return { windows: [], violated: [], retryAfterS: 0 };
    },
  };
  const handlePoll = createPollHandler({
    store: makeStubStore(),
    verifyToken: (token) =>
      token === 'good'
        ? { kind: 'valid', token: { userId: 'boss', tokenId: undefined } }
        : { kind: 'invalid' },
    failedTokens,
    limiter: { consume: () => ({ windows: [], violated: [], retryAfterS: 0 }) },
    trustProxy,
  });
  const server = createServer(handlePoll);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${NEW_LEADS_PATH}`;
  const poll = (token: string, headers: Record<string, string>) =>
    fetch(url, { headers: { ...headers, authorization: `Bearer ${token}` } });
  return {
    find: async (headers: Record<string, string>) => {
      counted.length = 0;
      await poll('bad', headers);
      const link = (await poll('good', headers)).headers.get('link') ?? '';
      return { counted: [...counted], origin: new URL(link.slice(1, link.indexOf('>'))).origin };
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
    host: new URL(url).host,
  };
}

const withoutMapping = (text: string) => text.replace('::ffff:', '');

const entriesOf = (header: string | undefined) => (header ?? '').split(',').map((entry) => entry.trim());

/** The rules of docs/configuration.md, "Behind a proxy", written a second time: the peer is 127.0.0.1. */
function expected(trustProxy: TrustProxy, headers: Readonly<Record<string, string>>, host: string) {
  const proxies = new BlockList();
  for (const range of Array.isArray(trustProxy) ? trustProxy : []) {
    const [network = '', bits = '32'] = range.split('/');
    proxies.addSubnet(network, Number(bits), 'ipv4');
  }
  const isTrusted = (candidate: string, hop: number) =>
    typeof trustProxy === 'number' ? hop < trustProxy : isIP(candidate) !== 0 && proxies.check(candidate);
  const list = headers['x-forwarded-for'];
  const nearestFirst = ['127.0.0.1', ...(list === undefined ? [] : entriesOf(list).reverse())].map(
    withoutMapping,
  );
  const client = nearestFirst.find((candidate, hop) => !isTrusted(candidate, hop)) ?? nearestFirst.at(-1);
  if (!isTrusted('127.0.0.1', 0)) return { counted: [client], origin: `http://${host}` };
  const protocol = entriesOf(headers['x-forwarded-proto']).at(-1) || 'http';
  return {
    counted: [client],
    origin: `${protocol}://${entriesOf(headers['x-forwarded-host']).at(-1) || host}`,
  };
}

it('client address and public URL follow the rules, for any trusted proxies', async () => {
  await fc.assert(
    fc.asyncProperty(trust, forwarded, async (trustProxy, headers) => {
      const handler = await serveHandler(trustProxy);
      const found = await handler.find(headers);
      handler.close();
      expect(found).toEqual(expected(trustProxy, headers, handler.host));
    }),
    { numRuns: 60 },
  );
});

const FORWARDED = {
  'x-forwarded-for': '203.0.113.7, 10.0.0.9, 10.0.0.2',
  'x-forwarded-host': 'made-up.example, leads.example',
  'x-forwarded-proto': 'http, https',
};

it.each<[TrustProxy, Record<string, string>, string, string | undefined]>([
  [false, FORWARDED, '127.0.0.1', undefined],
  [1, FORWARDED, '10.0.0.2', 'https://leads.example'],
  [2, FORWARDED, '10.0.0.9', 'https://leads.example'],
  [3, FORWARDED, '203.0.113.7', 'https://leads.example'],
  [9, FORWARDED, '203.0.113.7', 'https://leads.example'],
  [1, {}, '127.0.0.1', undefined],
  [['127.0.0.1'], FORWARDED, '10.0.0.2', 'https://leads.example'],
  [['127.0.0.1', '10.0.0.0/8'], FORWARDED, '203.0.113.7', 'https://leads.example'],
  [['loopback', '10.0.0.2'], FORWARDED, '10.0.0.9', 'https://leads.example'],
  [['10.0.0.0/8'], FORWARDED, '127.0.0.1', undefined],
  [['127.0.0.1'], { 'x-forwarded-for': '2001:db8:1:2::9' }, '2001:db8:1:2::/64', undefined],
  [['127.0.0.1', 'fd00::/8'], { 'x-forwarded-for': '203.0.113.7, fd00::1' }, '203.0.113.7', undefined],
])('trust %j, %j: the client is %s, the origin %s', async (trustProxy, headers, client, origin) => {
  const handler = await serveHandler(trustProxy);
  const found = await handler.find(headers);
  handler.close();
  expect(found).toEqual({ counted: [client], origin: origin ?? `http://${handler.host}` });
});
