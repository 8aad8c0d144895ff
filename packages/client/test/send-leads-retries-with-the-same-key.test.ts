import { RateLimitError } from '@leadtap/client';
import { describe, expect, it } from 'vitest';
import { closed, thrownBy } from './answering.ts';
import { confirm, problem, type Reply, receiving, sender } from './receiving.ts';

const ADA = { firstName: 'Ada', email: 'ada@example.com' };

const BACK_SOON: Reply = {
  status: 502,
  headers: { 'content-type': 'text/html' },
  body: '<h1>Back soon</h1>',
};
const PORTAL: Reply = { status: 200, headers: { 'content-type': 'text/html' }, body: '<h1>Log in</h1>' };

describe('one call without ids', () => {
  it('has one key for all its attempts, and the next call has another', async () => {
    const { url, requests, keys } = await receiving('hang up', problem(503, 'unavailable'), BACK_SOON);
    const { send } = sender(url);
    expect(await send(ADA)).toEqual([
      { id: 'made-0', createdAt: '2026-03-02T09:30:00.001Z', result: 'added' },
    ]);
    expect(requests.map(({ leads }) => leads)).toEqual([[ADA], [ADA], [ADA], [ADA]]);
    expect(new Set(keys()).size).toBe(1);
    expect(keys()[0]).toMatch(/^[0-9a-f-]{36}$/);
    await send(ADA);
    expect(new Set(keys()).size).toBe(2);
  });

  it('uses the key of the caller', async () => {
    const { url, keys } = await receiving('hang up');
    await sender(url, { idempotencyKey: 'form-42' }).send([ADA, { id: 'known' }]);
    expect(keys()).toEqual(['form-42', 'form-42']);
  });
});

it('leads with ids need no key', async () => {
  const { url, keys } = await receiving('hang up');
  const sent = await sender(url).send([{ id: 'a' }, { id: 'b' }]);
  expect(sent.map(({ id }) => id)).toEqual(['a', 'b']);
  expect(keys()).toEqual([undefined, undefined]);
});

it('one lead without an id among others gets a key', async () => {
  const { url, keys } = await receiving();
  await sender(url).send([{ id: 'a' }, ADA]);
  expect(keys()).toEqual([expect.any(String)]);
});

it('the request is a POST of JSON with the token, at the base address', async () => {
  const { url, requests } = await receiving();
  await sender(`${url}/api/`).send({ ...ADA, appointmentDateTime: new Date(0) });
  await sender(`${url}/api/automation/new-leads`).send(ADA);
  expect(requests.map(({ path }) => path)).toEqual(['POST /api/leads', 'POST /api/leads']);
  expect(requests[0]?.headers).toMatchObject({
    authorization: 'Bearer any',
    'content-type': 'application/json',
  });
  expect(requests[0]?.leads).toEqual([{ ...ADA, appointmentDateTime: '1970-01-01T00:00:00.000Z' }]);
});

describe('the wait before a retry', () => {
  it('doubles with each failure, with full jitter', async () => {
    const { url } = await receiving(...Array.from({ length: 7 }, () => problem(500, 'internal-error')));
    const { send, waits } = sender(url);
    await send(ADA);
    expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000]);
  });

  it('is at least Retry-After', async () => {
    const limited = problem(429, 'rate-limit-exceeded', {}, { 'retry-after': '42' });
    const { url } = await receiving(limited);
    const { send, waits } = sender(url);
    await send(ADA);
    expect(waits).toEqual([42_500]);
  });

  it('is reported', async () => {
    const retries: [string, number][] = [];
    const onRetry = ({ code }: { code: string }, waitMs: number) => retries.push([code, waitMs]);
    const { url } = await receiving(
      'hang up',
      problem(503, 'unavailable', {}, { 'retry-after': '7' }),
      PORTAL,
    );
    await sender(url, { onRetry }).send(ADA);
    expect(retries).toEqual([
      ['connection-failed', 500],
      ['unavailable', 8000],
      ['not-leads', 2000],
    ]);
  });
});

it('a used-up quota is waited for before the next request, without a 429', async () => {
  const { url, requests } = await receiving((request) => {
    const answer = confirm(request);
    return { ...answer, headers: { ...answer.headers, ratelimit: '"intake";r=0;t=17' } };
  });
  const { send, waits } = sender(url);
  await send(Array.from({ length: 1001 }, (_, n) => ({ id: String(n) })));
  expect(requests.length).toBe(2);
  expect(waits).toEqual([17_000]);
});

describe('a call ends', () => {
  it('with the last error after maxAttempts', async () => {
    const limited = problem(429, 'rate-limit-exceeded', {}, { 'retry-after': '3' });
    const { url, requests } = await receiving(limited, limited, limited);
    const error = await thrownBy(sender(url, { maxAttempts: 3 }).send(ADA));
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ status: 429, retryAfterMs: 3000, isTransient: true });
    expect(requests.length).toBe(3);
  });

  it('after 8 attempts by default', async () => {
    const { send, waits } = sender(await closed());
    expect(await thrownBy(send(ADA))).toMatchObject({ code: 'connection-failed', status: undefined });
    expect(waits.length).toBe(7);
  });

  it.each([
    [400, 'malformed-request'],
    [401, 'token-expired'],
    [403, 'insufficient-scope'],
    [404, 'no-such-resource'],
    [413, 'payload-too-large'],
    [422, 'invalid-lead'],
  ])('at once with %d', async (status, code) => {
    const { url, requests } = await receiving(problem(status, code));
    expect(await thrownBy(sender(url).send(ADA))).toMatchObject({ status, code, isTransient: false });
    expect(requests.length).toBe(1);
  });

  it('at once with a redirect, and names its address', async () => {
    const location = 'https://leads.example.com/leads';
    const { url, requests } = await receiving({ status: 301, headers: { location }, body: '' });
    const error = await thrownBy(sender(url).send(ADA));
    expect(error).toMatchObject({ status: 301, code: 'http-301' });
    expect(error.message).toMatch(`redirects to ${location}`);
    expect(requests.length).toBe(1);
  });

  it('with the reason of its signal, while it sends', async () => {
    const stop = new AbortController();
    const { url } = await receiving(() => {
      stop.abort(new Error('enough'));
      return 'never';
    });
    await expect(sender(url, { signal: stop.signal }).send(ADA)).rejects.toThrow('enough');
  });

  it('with the reason of its signal, while it waits', async () => {
    const stop = new AbortController();
    const { url, requests } = await receiving('hang up');
    const sleep = async () => stop.abort(new Error('enough'));
    const work = sender(url, { signal: stop.signal, environment: { sleep } }).send(ADA);
    await expect(work).rejects.toThrow('enough');
    expect(requests.length).toBe(1);
  });
});

describe('a 200 or 201 counts only if it confirms every lead', () => {
  const json = (body: string): Reply => ({
    status: 201,
    headers: { 'content-type': 'application/json' },
    body,
  });
  it.each([
    ['a login page', PORTAL],
    ['an empty object', json('{}')],
    ['null', json('null')],
    ['too few leads', json('{"leads":[]}')],
    ['other things', json('{"leads":[{"id":1}]}')],
    ['half a text', json('{"leads":[{"id":"a"')],
  ])('%s', async (_, reply) => {
    const { url } = await receiving(reply);
    const error = await thrownBy(sender(url, { maxAttempts: 1 }).send(ADA));
    expect(error).toMatchObject({ code: 'not-leads', isTransient: true });
    expect(error.message).toMatch(
      /\/leads answered 20\d, but did not confirm the leads: check the base address\.$/,
    );
  });
});

it('no error has the token in its message', async () => {
  const token = 'secret-token';
  const { url } = await receiving(problem(401, 'token-invalid'));
  for (const baseUrl of [url, await closed()]) {
    const { message } = await thrownBy(sender(baseUrl, { token, maxAttempts: 1 }).send(ADA));
    expect(message).not.toContain(token);
  }
});
