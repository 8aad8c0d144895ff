import { LEADS_PATH, NEW_LEADS_PATH } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { tokenWith } from '../../../testing/harness/intake.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { sendRawOnce } from '../../../testing/harness/raw-http.ts';
import { startService } from '../../../testing/harness/service.ts';

/** Waits less long than usual for a request to arrive. */
const IMPATIENT = { requestTimeoutMs: 100 };

describe('408 request-timeout', () => {
  it.each([
    ['half a first line', 'GET /auto'],
    ['half of the headers', `GET ${NEW_LEADS_PATH} HTTP/1.1\r\nHost: x\r\nX-Half:`],
  ])('answers %s, and hangs up', async (_what, text) => {
    const answer = await sendRawOnce((await startService(IMPATIENT)).url, text);
    await expectProblem(answer, 'request-timeout');
    expect(answer.headers['connection']).toBe('close');
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
  });

  it('answers half of the body of sent leads, and stores nothing', async () => {
    const test = await startService(IMPATIENT);
    const token = await tokenWith(test, 'boss', ['leads:write']);
    const head = `POST ${LEADS_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n`;
    const text = `${head}Content-Type: application/json\r\nContent-Length: 20\r\n\r\n{"id":`;
    await expectProblem(await sendRawOnce(test.url, text), 'request-timeout');
  });

  it('is not waited for by default for longer than a quarter of a minute', async () => {
    const { service } = await startService();
    const { requestTimeout, headersTimeout } = service.publicServer.server;
    expect([requestTimeout, headersTimeout]).toEqual([15_000, 15_000]);
  });
});
