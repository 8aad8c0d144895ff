import type { AddressInfo } from 'node:net';
import { LEADS_PATH, NEW_LEADS_PATH } from '@leadtap/contract';
import type { Verification } from 'leadtap';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { noLimit } from '../../../testing/harness/endpoint.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { sendRawOnce } from '../../../testing/harness/raw-http.ts';
import { startService } from '../../../testing/harness/service.ts';
import { buildApp } from '../../src/build-app.ts';

/** The application as it is, except that it waits less long for a request to arrive. */
async function startImpatient(isTokenValid = false): Promise<string> {
  const { store } = await startService();
  const services = {
    store,
    verifyToken: async (): Promise<Verification> =>
      isTokenValid
        ? { kind: 'valid', token: { userId: 'boss', tokenId: 'a', scopes: ['leads:write'] } }
        : { kind: 'invalid' },
    limiter: noLimit,
    failedTokens: noLimit,
    observer: { observe: () => undefined },
    logger: pino({ level: 'silent' }),
    clock: Date.now,
    version: '0.0.0',
  };
  const address = { basePath: '', publicUrl: undefined, trustProxy: false } as const;
  const app = buildApp(services, { ...address, requestTimeoutMs: 100, intake: true });
  onTestFinished(() => app.close());
  await app.listen({ host: '127.0.0.1', port: 0 });
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
}

describe('408 request-timeout', () => {
  it.each([
    ['half a first line', 'GET /auto'],
    ['half of the headers', `GET ${NEW_LEADS_PATH} HTTP/1.1\r\nHost: x\r\nX-Half:`],
  ])('answers %s, and hangs up', async (_what, text) => {
    const answer = await sendRawOnce(await startImpatient(), text);
    await expectProblem(answer, 'request-timeout');
    expect(answer.headers['connection']).toBe('close');
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
  });

  it('answers half of the body of sent leads, and stores nothing', async () => {
    const head = `POST ${LEADS_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n`;
    const text = `${head}Content-Type: application/json\r\nContent-Length: 20\r\n\r\n{"id":`;
    await expectProblem(await sendRawOnce(await startImpatient(true), text), 'request-timeout');
  });

  it('is not waited for by default for longer than a quarter of a minute', async () => {
    const { service } = await startService();
    const { requestTimeout, headersTimeout } = service.app.server;
    expect([requestTimeout, headersTimeout]).toEqual([15_000, 15_000]);
  });
});
