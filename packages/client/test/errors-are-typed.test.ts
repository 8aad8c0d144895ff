import {
  ForbiddenError,
  LeadtapError,
  NotFoundError,
  newLeads,
  poll,
  RateLimitError,
  UnauthorizedError,
} from '@leadtap/client';
import { describe, expect, it } from 'vitest';
import { shareService } from '../../testing/harness/shared-service.ts';
import { answering, closed, NEXT_LINK, thrownBy } from './answering.ts';

const service = shareService();

const tokens = {
  good: () => service().token('boss'),
  expired: () => service().token('boss', { expiresInMs: -3_600_000 }),
  starter: () => service().token('starter'),
  unknownUser: () => service().token('unknown-user'),
  nonsense: async () => 'nonsense',
};

interface Case {
  readonly token: keyof typeof tokens;
  readonly path?: string;
  readonly type: typeof LeadtapError;
  readonly status: number;
  readonly code: string;
}

const FINAL: readonly Case[] = [
  { token: 'nonsense', type: UnauthorizedError, status: 401, code: 'token-invalid' },
  { token: 'expired', type: UnauthorizedError, status: 401, code: 'token-expired' },
  { token: 'starter', type: ForbiddenError, status: 403, code: 'professional-plan-required' },
  { token: 'unknownUser', type: NotFoundError, status: 404, code: 'user-not-found' },
  { token: 'good', path: '/wrong', type: NotFoundError, status: 404, code: 'no-such-resource' },
];

describe.each(FINAL)('$status $code', ({ token, path = '', type, status, code }) => {
  const options = async () => ({ baseUrl: service().url + path, token: await tokens[token]() });

  it('is thrown by poll', async () => {
    const error = await thrownBy(poll(await options()));
    expect(error).toBeInstanceOf(type);
    expect(error).toMatchObject({ status, code, name: type.name, isTransient: false });
    expect(error.problem).toMatchObject({ status, code, requestId: expect.any(String) });
    expect(error.message).toContain(`${status} ${code}`);
  });

  it('ends the loop', async () => {
    const error = await thrownBy(newLeads(await options()).next());
    expect(error).toBeInstanceOf(type);
    expect(error.code).toBe(code);
  });
});

it('400 names every bad parameter, and ends the loop', async () => {
  const options = { baseUrl: service().url, token: await tokens.good(), since: 'yesterday' };
  const error = await thrownBy(poll({ ...options, limit: 0 }));
  expect(error).toMatchObject({ status: 400, code: 'invalid-query', isTransient: false });
  expect(error.problem?.errors?.map((error) => 'parameter' in error && error.parameter).sort()).toEqual([
    'limit',
    'since',
  ]);
  expect(await thrownBy(newLeads(options).next())).toMatchObject({ code: 'invalid-query' });
});

it('the message of no error holds the token', async () => {
  const token = await tokens.good();
  const errors = [
    await thrownBy(poll({ baseUrl: service().url, token: `${token}x` })),
    await thrownBy(poll({ baseUrl: await closed(), token })),
  ];
  for (const { message } of errors) expect(message).not.toContain(token);
});

describe('poll throws what may pass by itself as', () => {
  const waits = { 'retry-after': '17' };
  const problem = { 'content-type': 'application/problem+json' };
  const body = JSON.stringify({ code: 'rate-limit-exceeded', detail: 'Wait.', requestId: 'r-1' });
  it.each([
    ['429 of the service', 429, { ...waits, ...problem }, body, 'rate-limit-exceeded', 17_000],
    ['429 of a proxy', 429, {}, 'slow down', 'http-429', undefined],
    [
      'a date to wait for',
      503,
      { 'retry-after': 'Mon, 02 Mar 2026 09:31:00 GMT', date: 'Mon, 02 Mar 2026 09:30:00 GMT' },
      '',
      'http-503',
      60_000,
    ],
    ['a wait of years', 503, { 'retry-after': '99999999' }, '', 'http-503', 3_600_000],
    ['a wait that is none', 503, { 'retry-after': 'soon' }, '', 'http-503', undefined],
    ['500', 500, {}, '<html>', 'http-500', undefined],
    ['half a page', 200, { link: NEXT_LINK }, '[{"id":', 'connection-failed', undefined],
  ] as const)('%s', async (_, status, headers, text, code, retryAfterMs) => {
    const baseUrl = await answering({ status, headers, body: text });
    const error = await thrownBy(poll({ baseUrl, token: 'any' }));
    expect(error).toMatchObject({ code, retryAfterMs, isTransient: true });
    expect(error instanceof RateLimitError).toBe(status === 429);
  });

  it('no connection', async () => {
    const error = await thrownBy(poll({ baseUrl: await closed(), token: 'any' }));
    expect(error).toBeInstanceOf(LeadtapError);
    expect(error).toMatchObject({ code: 'connection-failed', status: undefined, isTransient: true });
    expect(error.message).toMatch(/^No whole answer from http:.+\/automation\/new-leads: .*ECONNREFUSED/);
  });

  it('no answer in time', async () => {
    const baseUrl = await answering('never');
    const error = await thrownBy(poll({ baseUrl, token: 'any', timeoutMs: 20 }));
    expect(error).toMatchObject({ code: 'timed-out', status: undefined, isTransient: true });
  });
});
