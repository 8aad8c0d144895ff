import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import fc from 'fast-check';
import Fastify from 'fastify';
import { createPollHandler, type Limiter, type TrustProxy } from 'leadtap';
import { expect, it } from 'vitest';
import { emptyStore } from '../../../testing/harness/endpoint.ts';
import { compileTrust } from '../../src/http/forwarded.ts';
import { addressKey } from '../../src/http/rate-limit.ts';

const address = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.constantFrom('10.0.0.1', '10.0.0.2', '::ffff:10.0.0.1', 'unknown'),
);
const list = (of: fc.Arbitrary<string>) =>
  fc
    .array(of, { minLength: 1, maxLength: 4 })
    .chain((items) => fc.constantFrom(',', ', ', ' ,').map((gap) => items.join(gap)));

const trust: fc.Arbitrary<TrustProxy> = fc.oneof(
  fc.constantFrom<TrustProxy>(false, 1, 2, 3),
  fc.subarray(['10.0.0.0/8', '127.0.0.1', '::1', 'fc00::/7'], { minLength: 1 }),
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
    store: emptyStore,
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
      return { counted, origin: new URL(link.slice(1, link.indexOf('>'))).origin };
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
    host: new URL(url).host,
  };
}

it('client address and public URL are those that Fastify finds, for any trusted proxies', async () => {
  await fc.assert(
    fc.asyncProperty(trust, forwarded, async (trustProxy, headers) => {
      const app = Fastify({ trustProxy: compileTrust(trustProxy) ?? false });
      app.get('/', async ({ ip, host, protocol }) => ({ ip, host, protocol }));
      const handler = await serveHandler(trustProxy);
      const sent = { host: handler.host, ...headers };
      const { ip, host, protocol } = (
        await app.inject({ url: '/', headers: sent, remoteAddress: '127.0.0.1' })
      ).json();
      const { counted, origin } = await handler.find(headers);
      handler.close();
      expect(origin).toBe(`${protocol}://${host}`);
      expect(counted).toEqual([addressKey(ip)]);
    }),
    { numRuns: 60 },
  );
});
