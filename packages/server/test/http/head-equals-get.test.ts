import { NEW_LEADS_PATH } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { requestText, sendRaw } from '../../../testing/harness/raw-http.ts';
import { startService } from '../../../testing/harness/service.ts';

/** Headers that differ between any two requests. */
const OWN = ['x-request-id', 'ratelimit'];

describe('HEAD', () => {
  it.each([
    ['200', 'boss', ''],
    ['200', 'boss', 'since=1970-01-01&limit=2'],
    ['200', 'boss', 'since=2999-01-01'],
    ['400', 'boss', 'limit=0'],
    ['403', 'starter', ''],
    ['404', 'unknown', ''],
    ['401', '', ''],
  ])('answers %s for %s with ?%s as GET does, without the body', async (status, userId, query) => {
    const { url, token, add } = await startService({ clock: manualClock() });
    await add({ id: 'a', fields: { firstName: 'Zoë' } }, { id: 'b' }, { id: 'c' });
    const credentials = userId === '' ? 'nonsense' : await token(userId);
    const send = async (method: string) => {
      const path = `${NEW_LEADS_PATH}${query && `?${query}`}`;
      const lines = ['Host: x', 'Connection: close', `Authorization: Bearer ${credentials}`];
      const text = requestText(`${method} ${path} HTTP/1.1`, ...lines, 'X-Request-Id: fixed');
      return sendRaw(url, text, { bodyless: method === 'HEAD' });
    };
    const [get] = await send('GET');
    const [head] = await send('HEAD');
    const comparable = (headers: Readonly<Record<string, string>> = {}) =>
      Object.entries(headers).filter(
        ([name]) => !OWN.includes(name) && !(name === 'date' && status !== '200'),
      );
    expect(String(get?.status)).toBe(status);
    expect(head?.status).toBe(get?.status);
    expect(comparable(head?.headers)).toEqual(comparable(get?.headers));
    expect(head?.headers['content-length']).toBe(String(Buffer.byteLength(get?.body ?? '')));
    expect(head?.body).toBe('');
  });

  it('uses one unit of the limits', async () => {
    const { poll } = await startService({ clock: manualClock() });
    await poll('boss', '', { method: 'HEAD' });
    expect((await poll('boss')).headers.get('ratelimit')).toContain('"minute";r=98');
  });
});
