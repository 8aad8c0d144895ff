import fc from 'fast-check';
import Fastify from 'fastify';
import { expect, it } from 'vitest';
import { addressedAs, callerOf, makeTrust, type TrustProxy } from '../../../src/http/forwarded.ts';
import { bearer, PATH, pollText, sendBoth, startPair } from '../lane-and-route.ts';

const address = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.constantFrom('10.0.0.1', '10.0.0.2', '::ffff:10.0.0.1', 'nobody'),
);
const list = (of: fc.Arbitrary<string>) =>
  fc
    .array(of, { maxLength: 4 })
    .chain((items) =>
      fc
        .array(fc.constantFrom(',', ', ', ' ,', ',,'), { minLength: 4, maxLength: 4 })
        .map((gaps) => items.map((item, n) => item + (n < items.length - 1 ? gaps[n] : '')).join('')),
    );

/** Peers that Fastify can be told of, so that what it finds can be compared. */
const remoteAddress = fc.oneof(fc.ipV4(), fc.constantFrom('10.0.0.1', '127.0.0.1'));
const trust: fc.Arbitrary<TrustProxy> = fc.oneof(
  fc.constantFrom<TrustProxy>(false, 1, 2, 3),
  fc.subarray(['10.0.0.0/8', '127.0.0.1', '::1', 'fc00::/7'], { minLength: 1 }),
);

it('whoever is trusted, the caller and the address that it used are those that Fastify finds', async () => {
  const request = fc.record({
    remoteAddress,
    host: fc.constantFrom('leads.example', 'other.example:80'),
    forwardedFor: fc.option(list(address), { nil: undefined }),
    forwardedHost: fc.option(list(fc.constantFrom('a.example', 'b.example')), { nil: undefined }),
    forwardedProto: fc.option(list(fc.constantFrom('http', 'https')), { nil: undefined }),
  });
  await fc.assert(
    fc.asyncProperty(trust, request, async (whom, sent) => {
      const app = Fastify({ trustProxy: makeTrust(whom) ?? false });
      app.get('/', async ({ ip, host, protocol }) => ({ ip, host, protocol }));
      const headers = {
        host: sent.host,
        ...(sent.forwardedFor !== undefined && { 'x-forwarded-for': sent.forwardedFor }),
        ...(sent.forwardedHost !== undefined && { 'x-forwarded-host': sent.forwardedHost }),
        ...(sent.forwardedProto !== undefined && { 'x-forwarded-proto': sent.forwardedProto }),
      };
      const answer = await app.inject({ url: '/', headers, remoteAddress: sent.remoteAddress });
      const ours = makeTrust(whom);
      expect({
        ip: callerOf(sent, sent.remoteAddress, ours),
        ...addressedAs(sent, ours?.(sent.remoteAddress, 0) ?? false),
      }).toEqual(answer.json());
    }),
    { numRuns: 300 },
  );
});

it.each(['1', '2', '127.0.0.1', '10.0.0.0/8'])(
  'behind LEADTAP_TRUST_PROXY=%s, polls are answered alike',
  async (proxies) => {
    const pair = await startPair({ env: { LEADTAP_TRUST_PROXY: proxies } });
    const token = await bearer(pair, 'boss');
    for (const header of [
      'X-Forwarded-For: 192.0.2.1',
      'X-Forwarded-For: 192.0.2.1, 10.0.0.7',
      'X-Forwarded-Host: public.example',
      'X-Forwarded-Host: public.example, inner.example',
      'X-Forwarded-Host: "><script>',
      'X-Forwarded-Proto: https',
      'X-Forwarded-Proto: javascript',
    ])
      await sendBoth(pair, pollText(PATH, token, header, 'Connection: close'));
    expect(pair.lane.routed.count).toBe(0);
  },
);

it('tokens that failed are counted for the caller, not for the proxy', async () => {
  const pair = await startPair({ env: { LEADTAP_TRUST_PROXY: '1' } });
  const guess = (from: string, ...headers: readonly string[]) =>
    pollText(PATH, 'Authorization: Bearer guessed', `X-Forwarded-For: ${from}`, ...headers);
  await sendBoth(pair, guess('192.0.2.1').repeat(600) + guess('192.0.2.1', 'Connection: close'));
  const [limited] = await sendBoth(pair, guess('192.0.2.1', 'Connection: close'));
  const [other] = await sendBoth(pair, guess('192.0.2.2', 'Connection: close'));
  expect([limited?.status, other?.status]).toEqual([429, 401]);
});
