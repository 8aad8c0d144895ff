import { METHODS } from 'node:http';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { type RawAnswer, requestText, sendRawOnce } from '../../../testing/harness/raw-http.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';

const shared = shareService();

const send = (...lines: readonly string[]): Promise<RawAnswer> =>
  sendRawOnce(shared().url, requestText(...lines, 'Host: x', 'Connection: close'));

describe('405 method-not-allowed', () => {
  it.each(METHODS.filter((method) => method !== 'GET' && method !== 'HEAD'))('answers %s', async (method) => {
    // CONNECT names no path, so that nothing else could answer it.
    const answer = await send(
      `${method} ${method === 'CONNECT' ? 'example.com:443' : NEW_LEADS_PATH} HTTP/1.1`,
    );
    await expectProblem(answer, 'method-not-allowed');
    expect(answer.headers['allow']).toBe('GET, HEAD');
  });

  it('comes before the token and the rate limit are looked at', async () => {
    const token = await shared().token('boss');
    const answer = await send(`POST ${NEW_LEADS_PATH} HTTP/1.1`, `Authorization: Bearer ${token}`);
    await expectProblem(answer, 'method-not-allowed');
    expect(Object.keys(answer.headers)).not.toContain('ratelimit');
    const { headers } = await shared().poll('boss');
    expect(headers.get('ratelimit')).toContain('"minute";r=99');
  });

  it('does not wait for the body', async () => {
    // The rest of it never comes: an answer that waited for it would not come either.
    const answer = await sendRawOnce(
      shared().url,
      `${requestText(`POST ${NEW_LEADS_PATH} HTTP/1.1`, 'Host: x', 'Connection: close', 'Content-Type: application/json', 'Content-Length: 1000000')}{"a":`,
    );
    await expectProblem(answer, 'method-not-allowed');
  });

  it.each(['application/json', 'text/plain', 'nonsense', 'multipart/form-data; boundary=x'])(
    'does not mind a body of type %s',
    async (type) => {
      const init = { method: 'POST', headers: { 'content-type': type }, body: '{not json' };
      const response = await fetch(`${shared().url}${NEW_LEADS_PATH}`, init);
      await expectProblem(response, 'method-not-allowed');
    },
  );

  it('answers a method that is none with malformed-request', async () => {
    await expectProblem(await send(`BREW ${NEW_LEADS_PATH} HTTP/1.1`), 'malformed-request');
  });
});
