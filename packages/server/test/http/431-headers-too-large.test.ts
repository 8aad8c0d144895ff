import { NEW_LEADS_PATH } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { requestText, sendRawOnce } from '../../../testing/harness/raw-http.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';

const KIB = 1024;

describe('431 headers-too-large', () => {
  const shared = shareService();

  const send = (path: string, ...lines: readonly string[]) =>
    sendRawOnce(shared().url, requestText(`GET ${path} HTTP/1.1`, 'Host: x', 'Connection: close', ...lines));

  it.each([
    ['one large header', `X-Filler: ${'x'.repeat(16 * KIB)}`],
    [
      'many small headers',
      Array(600)
        .fill(`X-Filler: ${'x'.repeat(20)}`)
        .join('\r\n'),
    ],
    ['a header of 3 MB', `X-Filler: ${'x'.repeat(3_000_000)}`],
    ['a large cookie', `Cookie: a=${'x'.repeat(17 * KIB)}`],
    ['a large token', `Authorization: Bearer ${'x'.repeat(17 * KIB)}`],
  ])('answers %s', async (_what, line) => {
    const answer = await send(NEW_LEADS_PATH, line);
    await expectProblem(answer, 'headers-too-large');
    expect(answer.headers['connection']).toBe('close');
  });

  it('answers a URL of that size', async () => {
    await expectProblem(await send(`${NEW_LEADS_PATH}?x=${'x'.repeat(17 * KIB)}`), 'headers-too-large');
  });

  it('does not occur for 15 KiB', async () => {
    const authorization = `Authorization: Bearer ${await shared().token('boss')}`;
    const filler = `X-Filler: ${'x'.repeat(15 * KIB - authorization.length)}`;
    expect((await send(NEW_LEADS_PATH, authorization, filler)).status).toBe(200);
  });
});
