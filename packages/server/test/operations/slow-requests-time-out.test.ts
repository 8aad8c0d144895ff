import type { AddressInfo } from 'node:net';
import { MemoryLimiter, makeVerifyToken, systemClock } from 'leadtap';
import { expect, it, onTestFinished } from 'vitest';
import { startService } from '../../../testing/harness/service.ts';
import { buildApp } from '../../src/build-app.ts';
import { FAILED_TOKEN_POLICIES, USER_POLICIES } from '../../src/limits/limiter.ts';
import { makeLogger } from '../../src/ops/logging.ts';
import { connectRaw } from './raw-connection.ts';

async function startWithTimeout(requestTimeoutMs: number): Promise<string> {
  const { store, service } = await startService();
  const app = buildApp(
    {
      store,
      verifyToken: makeVerifyToken({ keys: service.keys, clock: systemClock }),
      limiter: new MemoryLimiter(USER_POLICIES, systemClock),
      failedTokens: new MemoryLimiter(FAILED_TOKEN_POLICIES, systemClock),
      observer: service.metrics,
      logger: makeLogger('silent', { write: () => undefined }),
      clock: systemClock,
      version: '0.0.0',
    },
    { basePath: '', publicUrl: undefined, trustProxy: false, requestTimeoutMs },
  );
  await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => app.close());
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
}

it('unfinished headers: 408 and the connection is closed', async () => {
  const { socket, received } = await connectRaw(await startWithTimeout(50));
  socket.write('GET /automation/new-leads HTTP/1.1\r\nHost: leads.example.com\r\nX-Slow: ');
  const answer = await received;
  expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
  expect(answer).toContain('"code":"request-timeout"');
});

it('a connection without a request is closed too', async () => {
  const { received } = await connectRaw(await startWithTimeout(50));
  expect(await received).not.toContain('200');
});

it('a request has 15 s to arrive', async () => {
  const { service } = await startService();
  const { headersTimeout, requestTimeout } = service.app.server;
  expect({ headersTimeout, requestTimeout }).toEqual({ headersTimeout: 15_000, requestTimeout: 15_000 });
});
