import { CONNECTIONS_PATH, type Connections, MAX_INTAKE_BYTES, type ProblemCode } from '@leadtap/contract';
import { issueToken, type TokenScope } from 'leadtap';
import { describe, expect, it } from 'vitest';
import type { Operation, Parameter } from '../../../contract/src/openapi-types.ts';
import { published } from '../../../contract/test/published-document.ts';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { issuedToken } from '../../../testing/harness/organisation.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { subscribe, ZAPIER_URL } from '../hooks/support/hooks.ts';

/** Given before the endpoint is known, by the limits that every endpoint has, or because the service fails. */
const OF_ANY_REQUEST = [
  'malformed-request',
  'no-such-resource',
  'method-not-allowed',
  'request-timeout',
  'rate-limit-exceeded',
  'headers-too-large',
  'internal-error',
  'unavailable',
] as const satisfies readonly ProblemCode[];

type Provoked = Exclude<ProblemCode, (typeof OF_ANY_REQUEST)[number]>;

interface Request {
  /** Default: a token of `boss` with both scopes. */
  readonly token?: string | undefined;
  readonly query?: string;
  readonly type?: string;
  readonly key?: string;
  /** Left out of a GET. */
  readonly body?: string;
}

const HOOK = JSON.stringify({ url: ZAPIER_URL, name: 'a name' });
const BOTH: readonly TokenScope[] = ['leads:read', 'leads:write'];

/** For each code, a request that has it as its answer wherever the code can occur. */
const REQUESTS: Readonly<Record<Provoked, (test: TestService, token: string) => Promise<Request>>> = {
  'invalid-query': async () => ({ query: '?limit=x' }),
  'token-missing': async () => ({ token: '' }),
  'token-invalid': async () => ({ token: 'x' }),
  'token-expired': async (test) => ({
    token: await test.token('boss', { expiresInMs: -60_000, scopes: BOTH }),
  }),
  'token-revoked': async (test) => {
    await test.store.recordTokens([issuedToken('boss', 'revoked')]);
    await test.store.revokeToken('revoked');
    return { token: await test.token('boss', { tokenId: 'revoked', scopes: BOTH }) };
  },
  'professional-plan-required': async (test) => ({ token: await test.token('starter', { scopes: BOTH }) }),
  'insufficient-scope': async (test) => ({ token: await test.token('boss', { scopes: [] }) }),
  'user-not-found': async (test) => ({ token: await test.token('nobody', { scopes: BOTH }) }),
  'payload-too-large': async () => ({ body: ' '.repeat(MAX_INTAKE_BYTES + 1) }),
  'unsupported-media-type': async () => ({ type: 'text/plain', body: 'a text' }),
  'invalid-lead': async () => ({ body: '[]' }),
  'idempotency-key-reused': async (test, token) => {
    const headers = {
      ...{ authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': 'used' },
    };
    await fetch(`${test.url}/leads`, { method: 'POST', headers, body: '{"firstName":"Ada"}' });
    return { key: 'used', body: '{"firstName":"Grace"}' };
  },
  'id-of-another-person': async (test) => {
    await test.add({ id: 'form-8', fields: { firstName: 'Ada' } });
    return { body: '{"id":"form-8","firstName":"Grace"}' };
  },
  'no-contact': async ({ service: { keys } }) => ({
    token: await issueToken(keys, {
      ...{ userId: 'boss', tokenId: 'form', scopes: BOTH, source: { name: 'form', map: {} } },
      ...{ issuedAt: START - 1000, expiresAt: START + DAY_MS },
    }),
    body: '{"Roof":"flat"}',
  }),
  'too-many-hooks': async (test) => {
    const token = await test.token('rival', { scopes: BOTH });
    for (let index = 0; index < 20; index += 1) await subscribe(test, token, `${ZAPIER_URL}${index}`);
    return { token, body: HOOK };
  },
  'connection-polls': async () => ({ body: '{"missed":true,"paused":true}' }),
  'invalid-hook': async () => ({ body: '{}' }),
  'hook-host-not-allowed': async () => ({ body: '{"url":"https://elsewhere.example/"}' }),
};

const START = Date.parse('2026-03-02T09:30:00.000Z');
const DAY_MS = 86_400_000;

const operations = Object.entries(published.paths).flatMap(([path, item]) =>
  Object.entries<Operation | readonly Parameter[]>({ ...item }).flatMap(([method, operation]) =>
    'operationId' in operation ? [{ ...operation, path, method: method.toUpperCase() }] : [],
  ),
);

const codesOf = ({ responses }: Operation): string[] =>
  Object.values(responses).flatMap(({ content }) =>
    Object.keys(content?.['application/problem+json']?.examples ?? {}),
  );

/** The id of a connection that polls. */
async function pollerOf(test: TestService, token: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}` };
  await fetch(`${test.url}/automation/new-leads`, { headers });
  await test.service.connections.flush();
  const list = await fetch(`${test.url}${CONNECTIONS_PATH}`, { headers });
  return ((await list.json()) as Connections).out[0]?.id ?? '';
}

describe('openapi.json promises the problems that an operation can answer, and no others', () => {
  it.each(operations.filter(({ method }) => method !== 'HEAD'))('$operationId', async (operation) => {
    const test = await startService({ clock: manualClock() });
    const own = await test.token('boss', { scopes: BOTH });
    const id = operation.path.startsWith(CONNECTIONS_PATH)
      ? await pollerOf(test, own)
      : (await subscribe(test, own, `${ZAPIER_URL}own`)).id;
    const answered: string[] = [];
    for (const [code, prepare] of Object.entries(REQUESTS)) {
      const { token = own, query = '', type = 'application/json', key, body } = await prepare(test, own);
      const response = await fetch(`${test.url}${operation.path.replace('{id}', id)}${query}`, {
        method: operation.method,
        headers: {
          ...(token && { authorization: `Bearer ${token}` }),
          ...(operation.method !== 'GET' && { 'content-type': type }),
          ...(key && { 'idempotency-key': key }),
        },
        ...(operation.method !== 'GET' && { body: body ?? HOOK }),
      });
      const problem = response.ok ? undefined : ((await response.json()) as { code: string });
      if (problem?.code === code) answered.push(code);
    }
    expect(codesOf(operation).sort()).toEqual([...OF_ANY_REQUEST, ...answered].sort());
  });

  it.each(operations.filter(({ method }) => method === 'HEAD'))('$operationId: as GET', (operation) => {
    const get = operations.find(({ path, method }) => path === operation.path && method === 'GET');
    const textsOf = ({ responses }: Operation) =>
      Object.entries(responses).map(([status, { description }]) => [status, description]);
    expect(textsOf(operation)).toEqual(get && textsOf(get));
  });
});
