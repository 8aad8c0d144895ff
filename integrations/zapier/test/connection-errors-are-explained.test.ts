import { createServer } from 'node:http';
import { PROBLEMS } from '@leadtap/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startService } from '../../../packages/testing/harness/service.ts';
import { shareService } from '../../../packages/testing/harness/shared-service.ts';
import { connectionLabel, testConnection } from '../src/authentication.ts';
import { type Connection, connect, failureOf, run } from './connection.ts';
import { recordRequests } from './requests.ts';

const labelOf = async (connection: Connection) => {
  const connected = await run(testConnection, connection);
  return run(async (z, bundle) => connectionLabel(z, { ...bundle, inputData: { ...connected } }), connection);
};

/** A server that is not Leadtap, as at a mistyped address. */
async function someWebsite(status: number): Promise<string> {
  const server = createServer((_request, response) => response.writeHead(status).end('<h1>Hello</h1>'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return `http://127.0.0.1:${address.port}`;
}

describe('a connection', () => {
  it('is called by its installation, and by its company once there is a lead', async () => {
    const test = await startService({ env: { LEADTAP_BASE_PATH: '/api' } });
    const connection = await connect(test);
    const { host } = new URL(test.url);
    expect(await labelOf(connection)).toBe(`${host}/api`);
    await test.add({ id: 'first' });
    expect(await labelOf(connection)).toBe(`Acme (${host}/api)`);
  });

  it('is tested with one small request that tells who asks', async () => {
    const test = await startService();
    const requests = recordRequests(test);
    await run(testConnection, await connect(test));
    expect(requests.map(({ url }) => url)).toEqual(['/automation/new-leads?limit=1']);
    expect(requests[0]?.userAgent).toMatch(/^zapier-leadtap\/\d+\.\d+\.\d+ zapier-platform-core\/\d/);
  });
});

describe('the base address', () => {
  const shared = shareService({ env: { LEADTAP_BASE_PATH: '/api' } });

  it.each([
    ['as it is', (url: string) => url],
    ['with a slash at the end', (url: string) => `${url}/`],
    ['with spaces around it', (url: string) => `  ${url} `],
    ['as the address of the endpoint', (url: string) => `${url}/automation/new-leads`],
    ['as an address of the endpoint with a query', (url: string) => `${url}/automation/new-leads?limit=5`],
  ])('is understood %s', async (_form, typed) => {
    const connection = await connect(shared());
    const { installation } = await run(testConnection, { ...connection, baseUrl: typed(shared().url) });
    expect(installation).toBe(`${new URL(shared().url).host}/api`);
  });

  it('is taken as https when nothing else is said', async () => {
    const { host } = new URL(shared().url);
    const connection = { ...(await connect(shared())), baseUrl: host };
    const failure = await failureOf(run(testConnection, connection));
    expect(failure.code).toBe('unreachable');
    expect(failure.message).toMatch(/SSL|EPROTO/);
  });

  it.each(['', 'our leads', 'ftp://leads.example.com', 'https://', 'http://:80'])(
    'is refused when it is %j',
    async (baseUrl) => {
      const failure = await failureOf(run(testConnection, { baseUrl, token: 'any' }));
      expect(failure).toMatchObject({ name: 'AppError', code: 'base-address' });
      expect(failure.message).toContain('https://leads.example.com');
    },
  );

  it.each([
    ['another path of the service', async () => `${shared().url}/elsewhere`],
    ['a page', () => someWebsite(200)],
    ['a page that is missing', () => someWebsite(404)],
  ])('is doubted when %s answers', async (_what, address) => {
    const connection = { ...(await connect(shared())), baseUrl: await address() };
    const failure = await failureOf(run(testConnection, connection));
    expect(failure).toMatchObject({ name: 'AppError', code: 'no-leadtap' });
    expect(failure.message).toContain('base address');
  });

  it('is named when it cannot be reached', async () => {
    const test = await startService();
    const connection = await connect(test);
    await test.stop();
    const failure = await failureOf(run(testConnection, connection));
    expect(failure).toMatchObject({ name: 'AppError', code: 'unreachable' });
    expect(failure.message).toContain(`${new URL(test.url).host} (ECONNREFUSED)`);
  });

  it('is not blamed for an error of what stands before the service', async () => {
    const failure = await failureOf(run(testConnection, { baseUrl: await someWebsite(502), token: 'any' }));
    expect(failure).toMatchObject({ name: 'AppError', code: 'unexpected-answer', status: 502 });
    expect(failure.message).toContain('502');
  });
});

describe('the access token', () => {
  const shared = shareService();
  const refusal = async (token: string) => failureOf(run(testConnection, { baseUrl: shared().url, token }));

  it('may have spaces around it', async () => {
    const { baseUrl, token } = await connect(shared());
    await expect(run(testConnection, { baseUrl, token: ` ${token}\n` })).resolves.toBeDefined();
  });

  it('expires the connection when it is not accepted', async () => {
    const failure = await refusal('ey.not.mine');
    expect(failure.name).toBe('ExpiredAuthError');
    expect(failure.message).toContain(PROBLEMS['token-invalid'].detail);
    expect(failure.message).toContain('reconnect Leadtap in Zapier');
  });

  it('expires the connection when it has expired', async () => {
    const failure = await refusal(await shared().token('boss', { expiresInMs: -120_000 }));
    expect(failure).toMatchObject({ name: 'ExpiredAuthError' });
    expect(failure.message).toContain(PROBLEMS['token-expired'].detail);
  });

  it('is not blamed for a plan', async () => {
    const failure = await refusal(await shared().token('starter'));
    expect(failure).toMatchObject({ name: 'AppError', code: 'professional-plan-required', status: 403 });
    expect(failure.message).toBe(PROBLEMS['professional-plan-required'].detail);
  });

  it('is named when something before the service refuses it', async () => {
    const failure = await failureOf(run(testConnection, { baseUrl: await someWebsite(401), token: 'any' }));
    expect(failure.name).toBe('ExpiredAuthError');
    expect(failure.message).toMatch(/^The access token was not accepted\. Ask .* Then reconnect/);
  });

  it('is named when its user is gone', async () => {
    const failure = await refusal(await shared().token('unknown-user'));
    expect(failure).toMatchObject({ name: 'AppError', code: 'user-not-found', status: 404 });
    expect(failure.message).toContain('Ask the operator');
  });
});
