import { StoreUnavailableError } from 'leadtap';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { beforeQuestion } from '../harness/before-question.ts';
import { requestText } from '../harness/raw-http.ts';
import { bearer, clock, PATH, type Pair, pollText, sendBoth, startPair } from './lane-and-route.ts';

const CLOSE = 'Connection: close';

let pair: Pair;

beforeAll(async () => {
  const cleanUps: (() => unknown)[] = [];
  pair = await startPair({ whenDone: (cleanUp) => void cleanUps.unshift(cleanUp) });
  const { add, store } = pair.lane;
  await add({ id: 'a', fields: { firstName: 'Éva' } }, { id: 'b', departmentId: 'sales' }, { id: 'c' });
  await store.revokeToken('revoked');
  return async () => {
    for (const cleanUp of cleanUps) await cleanUp();
  };
});

/** Nobody is limited by the test before. */
beforeEach(() => clock.advance(60_000));

/** As a user who may poll. */
const ask = async (target: string, ...headers: readonly string[]) => {
  const [answer] = await sendBoth(pair, pollText(target, await bearer(pair, 'boss'), CLOSE, ...headers));
  return answer;
};

it('the one takes plain polls before Fastify, the other does not', async () => {
  const [before, beside] = [pair.lane.routed.count, pair.route.routed.count];
  expect(await ask(PATH)).toMatchObject({ status: 200 });
  expect([pair.lane.routed.count - before, pair.route.routed.count - beside]).toEqual([0, 1]);
});

describe('the lane and the route give the same answer', () => {
  it.each([
    '',
    '?',
    '?limit=1',
    '?limit=1000',
    '?limit=007',
    '?&&limit=1&',
    '?l%69mit=1',
    '?limit=%31',
    '?since=2026-03-02T09:30:00.001Z',
    '?since=2026-03-02T09:30:00.001Z&limit=1',
    '?limit=1&since=2026-03-02T09:30:00.001Z',
    '?since=2026-03-02T09:30:00.001Z&limit=100&limit=1',
    '?since=2026-03-02T10:30:00.001+01:00',
    '?since=2026-03-02%2009:30:00',
    '?since=2026-02-30T00:00:00.000Z&limit=5',
    '?since=2024-02-29T09:30:00.000Z&limit=5',
    '?since=2999-01-01T00:00:00Z',
    '?since=0000-01-01T00:00:00.000Z&limit=3',
    '?since=9999-12-31T23:59:59.999Z&limit=3',
    '?since=1969-12-31T23:59:59.999Z&limit=3',
    '?since=',
    '?limit=',
    '?limit=0',
    '?limit=1e2',
    '?since=abc&limit=abc',
    '?since=a&since=b',
    '?limit=1&limit=2',
    '?unknown=1',
    '?limit=1#limit=2',
    '?limit=1?limit=2',
    '?limit=1;limit=2',
    '?%',
    '?%zz=1',
    '?since=%E0%A4%A',
    '?limit=%00',
    '?__proto__=1&limit=1',
  ])('to the query %j', async (query) => {
    expect([200, 400]).toContain((await ask(`${PATH}${query}`))?.status);
  });

  it.each([
    ['the tag itself', (etag: string) => etag, 304],
    ['a weak one', (etag: string) => `W/${etag}`, 304],
    ['several', (etag: string) => `"other", ${etag}`, 304],
    ['any', () => '*', 304],
    ['another', () => '"other"', 200],
    ['none', () => '', 200],
  ])('to an If-None-Match with %s', async (_what, tagOf, status) => {
    const { etag = '' } = (await ask(PATH))?.headers ?? {};
    expect(await ask(PATH, `If-None-Match: ${tagOf(etag)}`)).toMatchObject({ status });
  });

  it.each([
    ['no credentials', []],
    ['another scheme', ['Authorization: Basic Ym9zczpib3Nz']],
    ['a scheme alone', ['Authorization: Bearer']],
    ['what is no token', ['Authorization: Bearer abc']],
    ['two of them', ['Authorization: Bearer abc', 'Authorization: Bearer def']],
  ])('401 to %s', async (_what, headers) => {
    const [answer] = await sendBoth(pair, pollText(PATH, CLOSE, ...headers));
    expect(answer).toMatchObject({ status: 401 });
  });

  it.each([
    ['an expired token', 'boss', { expiresInMs: -1 }, 401],
    ['a revoked token', 'boss', { tokenId: 'revoked' }, 401],
    ['a user of another plan', 'starter', {}, 403],
    ['nobody', 'nobody', {}, 404],
  ])('to %s', async (_who, user, options, status) => {
    const token = await pair.lane.token(user, options);
    const [answer] = await sendBoth(pair, pollText(PATH, `Authorization: Bearer ${token}`, CLOSE));
    expect(answer).toMatchObject({ status });
  });

  it.each([
    ['an id of the caller', 'X-Request-Id: mine-1'],
    ['a harmful id', 'X-Request-Id: <script>'],
    ['a trace', 'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
    ['a trace of zeros', 'traceparent: 00-00000000000000000000000000000000-00f067aa0ba902b7-01'],
    ['what is no trace', 'traceparent: x'],
    ['what it would rather have', 'Accept: text/html'],
  ])('to %s', async (_what, header) => {
    expect(await ask(PATH, header)).toMatchObject({ status: 200 });
  });

  it('to a scheme in small letters, and spaces', async () => {
    const token = await pair.lane.token('boss');
    const text = pollText(PATH, `Authorization:   bearer    ${token}  `, CLOSE);
    expect(await sendBoth(pair, text)).toMatchObject([{ status: 200 }]);
  });

  it.each(['leads.example:8080', '[::1]:3000', 'EXAMPLE', 'a b', '"><script>', ''])(
    'to the Host %j',
    async (host) => {
      const text = requestText(`GET ${PATH} HTTP/1.1`, `Host: ${host}`, await bearer(pair, 'boss'), CLOSE);
      const [answer] = await sendBoth(pair, text);
      expect(answer).toMatchObject({ status: 200 });
    },
  );

  it.each(['GET', 'HEAD'])('to a body that comes with %s', async (method) => {
    const headers = ['Host: x', await bearer(pair, 'boss'), CLOSE, 'Content-Length: 5'];
    const text = `${requestText(`${method} ${PATH} HTTP/1.1`, ...headers)}hello`;
    await sendBoth(pair, text);
  });

  it('to HTTP/1.0', async () => {
    const text = requestText(`GET ${PATH} HTTP/1.0`, 'Host: x', await bearer(pair, 'boss'));
    expect(await sendBoth(pair, text)).toMatchObject([{ status: 200 }]);
  });

  it('to a user who has reached the limit', async () => {
    const statuses: (number | undefined)[] = [];
    for (let n = 0; n <= 100; n += 1) statuses.push((await ask(`${PATH}?limit=1`))?.status);
    expect(statuses).toEqual([...Array(100).fill(200), 429]);
  });

  it('to an address that has tried too many tokens', async () => {
    const text = pollText(PATH, 'Authorization: Bearer guessed');
    const answers = await sendBoth(
      pair,
      text.repeat(600) + pollText(PATH, 'Authorization: Bearer again', CLOSE),
    );
    expect(answers.map(({ status }) => status)).toEqual([...Array(600).fill(401), 429]);
  });

  it.each([
    ['away', () => new StoreUnavailableError('the store is away'), 503],
    ['broken', () => new Error('a secret of the store'), 500],
    [
      'broken in a way that looks like a client error',
      () => Object.assign(new Error('odd'), { statusCode: 400 }),
      500,
    ],
  ])('while the store is %s', async (_how, makeError, status) => {
    const ends = [pair.lane, pair.route].map(({ service }) =>
      beforeQuestion(service.store, 'findUser', () => Promise.reject(makeError())),
    );
    try {
      expect(await ask(PATH)).toMatchObject({ status });
    } finally {
      for (const end of ends) end();
    }
  });
});

it.each([
  ['a base path', { LEADTAP_BASE_PATH: '/api' }, '/api', 'http://leads.example/api'],
  ['a public address', { LEADTAP_PUBLIC_URL: 'https://public.example/x' }, '', 'https://public.example/x'],
])('so they do with %s', async (_what, env, prefix, base) => {
  const other = await startPair({ env });
  const text = pollText(`${prefix}${PATH}`, await bearer(other, 'boss'), CLOSE);
  const [answer] = await sendBoth(other, text);
  expect(answer?.headers['link']).toContain(`<${base}${PATH}?since=`);
});
