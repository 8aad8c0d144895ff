import { METHODS } from 'node:http';
import type { ProblemCode } from '@leadtap/contract';
import type { TokenScope } from 'leadtap';
import { describe, expect, it, vi } from 'vitest';
import { tokenWith } from '../../../testing/harness/intake.ts';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { issuedToken, ORGANISATION } from '../../../testing/harness/organisation.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { type RawAnswer, requestText, sendRaw, sendRawOnce } from '../../../testing/harness/raw-http.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';
import type { CallerEndpoint, Endpoint } from '../../src/http/endpoint.ts';

const service = shareService();

const rows = (): readonly Endpoint[] => service().service.endpoints;
const callerRows = (): CallerEndpoint[] => rows().flatMap((row) => ('callers' in row ? [row] : []));
const nameOf = ({ path, methods }: Endpoint): string => `${methods.join('/')} ${path}`;
const methodOf = ({ methods }: Endpoint): string => methods[0] ?? '';
/** An id that no hook has. */
const targetOf = ({ path }: Endpoint): string => path.replace('{id}', '0'.repeat(32)) || '/';

/** Without the base URL without a slash, which no request to the root has, and with one file of the console: all are alike. */
const reachable = (): Endpoint[] => {
  const isFile = ({ path }: Endpoint) => path.startsWith('/console/');
  const script = rows().find((row) => isFile(row) && row.path.endsWith('.js'));
  return rows().filter((row) => row.path !== '' && (!isFile(row) || row === script));
};

const send = (row: Endpoint, method: string, ...lines: string[]): Promise<RawAnswer> =>
  sendRaw(
    service().url,
    requestText(`${method} ${targetOf(row)} HTTP/1.1`, 'Host: x', 'Connection: close', ...lines),
    { bodyless: method === 'HEAD' },
  ).then(([answer]) => {
    if (!answer) throw new Error(`no answer to ${method} ${targetOf(row)}`);
    return answer;
  });

const CODES = {
  host: 'malformed-request',
  method: 'method-not-allowed',
  token: 'token-invalid',
  limit: 'rate-limit-exceeded',
  user: 'user-not-found',
  plan: 'professional-plan-required',
  scope: 'insufficient-scope',
  type: 'unsupported-media-type',
  size: 'payload-too-large',
} as const satisfies Record<string, ProblemCode>;

type Check = keyof typeof CODES;

const OTHER_SCOPE: Readonly<Record<TokenScope, TokenScope>> = {
  'leads:read': 'leads:write',
  'leads:write': 'leads:read',
};

/** The checks that a row has, in their order. Only endpoints that read leads need the plan. */
const checksOf = ({ callers, body }: CallerEndpoint): Check[] => [
  'host',
  'method',
  'token',
  'limit',
  'user',
  ...(callers.scope === 'leads:read' ? (['plan'] as const) : []),
  'scope',
  ...(body ? (['type', 'size'] as const) : []),
];

/** Uses up what this user may send. */
async function exhaust({ limiters }: TestService, userId: string): Promise<void> {
  for (const limiter of [limiters.users, limiters.intake])
    for (let violated = 0; violated === 0; ) violated = (await limiter.consume(userId)).violated.length;
}

/** A request that fails these checks. */
async function sendFailing(row: CallerEndpoint, failing: ReadonlySet<Check>): Promise<RawAnswer> {
  const known = failing.has('plan') ? 'starter' : 'boss';
  const userId = `${failing.has('user') ? 'unknown ' : ''}${failing.has('limit') ? 'rival' : known}`;
  if (failing.has('limit')) await exhaust(service(), userId);
  const { scope } = row.callers;
  const token = await tokenWith(service(), userId, [failing.has('scope') ? OTHER_SCOPE[scope] : scope]);
  const length = failing.has('size') ? (row.body?.maxBytes ?? 0) + 1 : 2;
  const head = requestText(
    `${failing.has('method') ? 'PUT' : methodOf(row)} ${targetOf(row)} HTTP/1.1`,
    ...(failing.has('host') ? [] : ['Host: leads.test']),
    `Authorization: Bearer ${failing.has('token') ? 'bad' : token}`,
    ...(row.body ? [`Content-Type: ${failing.has('type') ? 'text/plain' : 'application/json'}`] : []),
    ...(row.body ? [`Content-Length: ${length}`] : []),
    'Connection: close',
  );
  return sendRawOnce(service().url, `${head}${row.body ? '{}'.padEnd(length, ' ') : ''}`);
}

describe('every endpoint that needs a token', () => {
  it('gives the problem of the first check that fails', async () => {
    for (const row of callerRows())
      for (const [index, check] of checksOf(row).entries()) {
        const answer = await sendFailing(row, new Set(checksOf(row).slice(index)));
        expect(JSON.parse(answer.body), `${nameOf(row)}, ${check}`).toMatchObject({ code: CODES[check] });
        await expectProblem(answer, CODES[check]);
      }
  });

  it('has the rate-limit headers on every response to a valid token, and on no other', async () => {
    for (const row of callerRows())
      for (const check of checksOf(row)) {
        const { headers } = await sendFailing(row, new Set([check]));
        const isCounted = !['host', 'method', 'token'].includes(check);
        expect('ratelimit' in headers, `${nameOf(row)}, ${check}`).toBe(isCounted);
        expect('retry-after' in headers).toBe(check === 'limit');
      }
  });

  it('challenges the client: RFC 6750', async () => {
    for (const row of callerRows()) {
      const challengeOf = async (...lines: string[]) =>
        (await send(row, methodOf(row), ...lines)).headers['www-authenticate'];
      expect(await challengeOf()).toBe('Bearer realm="leadtap"');
      expect(await challengeOf('Authorization: Basic YTpi')).toBe('Bearer realm="leadtap"');
      expect(await challengeOf('Authorization: Bearer bad')).toMatch(/ error="invalid_token", /);
      const { headers } = await sendFailing(row, new Set(['scope']));
      expect(headers['www-authenticate']).toMatch(
        new RegExp(` error="insufficient_scope", .* scope="${row.callers.scope}"$`),
      );
    }
  });

  it('refuses expired and revoked tokens, and removed users, from the next request on', async () => {
    const clock = manualClock();
    const test = await startService({ clock });
    for (const row of callerRows()) {
      const codeOf = async (token: string) => {
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
        const response = await fetch(`${test.url}${targetOf(row)}`, { method: methodOf(row), headers });
        return ((await response.json()) as { code?: string }).code;
      };
      const scopes = [row.callers.scope];
      const tokenId = nameOf(row);
      const issuedId = `${tokenId}, issued`;
      const expiring = await test.token('boss', { expiresInMs: 1000, scopes });
      const revoked = await test.token('boss', { tokenId, scopes });
      const issued = await test.token('boss', { tokenId: issuedId, scopes });
      await test.store.recordTokens([issuedToken('boss', issuedId)]);
      for (const token of [expiring, revoked, issued])
        expect((await codeOf(token)) ?? '').not.toMatch(/^token-/);
      await test.store.revokeToken(tokenId);
      clock.advance(1000);
      expect([await codeOf(expiring), await codeOf(revoked)]).toEqual(['token-expired', 'token-revoked']);
      await test.store.removeUser('boss');
      for (const token of [revoked, issued]) expect(await codeOf(token)).toBe('user-not-found');
      // A user of the same id may be another person.
      await test.store.applyOrganisation(ORGANISATION);
      for (const token of [revoked, issued]) expect(await codeOf(token)).toBe('token-revoked');
    }
  });

  it('counts failed tokens by address, together with the others', async () => {
    const quota = callerRows().length;
    const failedTokenPolicies = [{ name: 'failed-tokens', quota, windowS: 60 }];
    const test = await startService({ limits: { failedTokenPolicies } });
    const guess = async (row: Endpoint) => {
      const init = { method: methodOf(row), headers: { authorization: 'Bearer guess' } };
      return (await fetch(`${test.url}${targetOf(row)}`, init)).status;
    };
    for (const row of callerRows()) expect(await guess(row)).toBe(401);
    for (const row of callerRows()) expect(await guess(row)).toBe(429);
    expect((await test.poll('boss')).status).toBe(200);
  });

  it('answers 503 with Retry-After if the account cannot be read', async () => {
    for (const row of callerRows()) {
      const test = await startService();
      const authorization = `Bearer ${await test.token('boss', { scopes: [row.callers.scope] })}`;
      const init = { method: methodOf(row), headers: { authorization, 'content-type': 'application/json' } };
      await test.store.close();
      test.store.close = async () => undefined;
      const response = await fetch(`${test.url}${targetOf(row)}`, init);
      expect(response.headers.get('retry-after'), nameOf(row)).toMatch(/^[1-9]\d*$/);
      await expectProblem(response, 'unavailable');
    }
  });
});

describe('every endpoint', () => {
  it.each([
    ['no Host', ['Connection: close']],
    ['two Hosts', ['Host: x', 'host: y']],
    ['two Authorizations', ['Host: x', 'Authorization: Bearer a', 'authorization: Bearer b']],
    ['an encoding before chunks', ['Host: x', 'Transfer-Encoding: gzip, chunked']],
  ])('answers %s with 400, and closes the connection', async (_what, lines) => {
    for (const row of reachable()) {
      const head = requestText(`${methodOf(row)} ${targetOf(row)} HTTP/1.1`, ...lines);
      const answer = await sendRawOnce(service().url, `${head}0\r\n\r\n`);
      await expectProblem(answer, 'malformed-request');
      expect(answer.headers['connection']).toBe('close');
    }
  });

  it('answers other methods with 405 and Allow, without waiting for the body', async () => {
    for (const row of reachable()) {
      const allowed = reachable().flatMap(({ path, methods }) => (path === row.path ? methods : []));
      for (const method of METHODS.filter((other) => other !== 'CONNECT' && !allowed.includes(other))) {
        const lines = method === 'HEAD' ? [] : ['Content-Type: text/plain', 'Content-Length: 1000000'];
        const answer = await send(row, method, ...lines);
        expect([answer.status, answer.headers['allow']]).toEqual([405, allowed.join(', ')]);
        if (method !== 'HEAD') await expectProblem(answer, 'method-not-allowed');
      }
    }
  });

  it('answers HEAD as GET, without the body', async () => {
    const authorization = `Authorization: Bearer ${await service().token('north-lead')}`;
    const lines = [authorization, 'X-Request-Id: fixed'];
    for (const row of reachable().filter(({ methods }) => methods.includes('HEAD'))) {
      const [get, head] = [await send(row, 'GET', ...lines), await send(row, 'HEAD', ...lines)];
      const comparable = ({ headers }: RawAnswer) => ({ ...headers, date: '', ratelimit: '' });
      expect([head.status, comparable(head)], nameOf(row)).toEqual([get.status, comparable(get)]);
      expect([head.body, get.headers['content-length']]).toEqual(['', String(Buffer.byteLength(get.body))]);
    }
  });

  it('has an id, and forbids browsers to guess the media type and other websites to read it', async () => {
    const authorization = `Authorization: Bearer ${await service().token('north-boss')}`;
    for (const row of reachable())
      for (const method of [methodOf(row), 'OPTIONS']) {
        const answers = [
          await send(row, method, authorization, 'Origin: https://website.example'),
          await send(row, method, authorization),
        ];
        for (const { headers } of answers) {
          expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
          expect(headers['x-content-type-options']).toBe('nosniff');
          const names = Object.keys(headers).filter((name) =>
            /^access-control-|^set-cookie|^server/.test(name),
          );
          expect(names).toEqual([]);
        }
        expect(answers[0]?.headers['x-request-id']).not.toBe(answers[1]?.headers['x-request-id']);
        const own = await send(row, method, 'X-Request-Id: my-own.id');
        expect(own.headers['x-request-id']).toBe('my-own.id');
      }
  });

  it('is found with encoded letters and by a whole URL', async () => {
    for (const row of reachable().filter(({ path }) => path !== '/')) {
      const target = targetOf(row);
      const encoded = `${target.slice(0, 2)}${encodeByte(target[2] ?? '')}${target.slice(3)}`;
      const statusOf = async (path: string) => {
        const text = requestText(`${methodOf(row)} ${path} HTTP/1.1`, 'Host: x', 'Connection: close');
        return (await sendRawOnce(service().url, text)).status;
      };
      const status = await statusOf(target);
      expect(await statusOf(encoded)).toBe(status);
      expect(await statusOf(`http://leads.example.com${target}?x=1`)).toBe(status);
    }
  });

  it('writes one log line, with its route', async () => {
    const lines: Record<string, unknown>[] = [];
    const logTo = { write: (line: string) => void lines.push(JSON.parse(line)) };
    const test = await startService({ logTo });
    for (const [index, row] of reachable().entries()) {
      const headers = { 'x-request-id': `request-${index}` };
      const init = { method: methodOf(row), headers };
      await fetch(`${test.url}${targetOf(row)}?contact=ada@lead.example`, init);
    }
    const requests = () => lines.filter(({ msg }) => msg === 'request');
    await vi.waitFor(() => expect(requests()).toHaveLength(reachable().length));
    for (const [index, row] of reachable().entries()) {
      const line = requests().find(({ requestId }) => requestId === `request-${index}`);
      expect(line).toMatchObject({ method: methodOf(row), path: row.path });
    }
    expect(JSON.stringify(lines)).not.toContain('ada@');
  });
});

const encodeByte = (letter: string): string => `%${letter.charCodeAt(0).toString(16)}`;

it.each([
  ['POST', '/leads', 'LEADTAP_INTAKE', '`LEADTAP_INTAKE=off`'],
  ['POST', '/automation/hooks', 'LEADTAP_HOOKS', '`LEADTAP_HOOKS=off`'],
  ['DELETE', '/automation/hooks/x', 'LEADTAP_HOOKS', '`LEADTAP_HOOKS=off`'],
])('%s %s is 404 with %s=off, and names the setting', async (method, path, variable, setting) => {
  const test = await startService({ env: { [variable]: 'off', LEADTAP_BASE_PATH: '/api' } });
  const headers = { authorization: `Bearer ${await test.token('boss')}` };
  for (const used of [method, 'GET', 'OPTIONS']) {
    const response = await fetch(`${test.url}${path}`, { method: used, headers });
    expect((await expectProblem(response, 'no-such-resource')).detail).toContain(setting);
  }
});
