import { describe, expect, it } from 'vitest';
import { fastestMs, LONG, MAX_MS } from '../../../testing/harness/linear-time.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';
import { parseWait } from '../../src/poll/hold.ts';

const READ: readonly [prefer: string, seconds: number | undefined][] = [
  ['wait=1', 1],
  ['wait=50', 50],
  ['wait=51', 50],
  ['wait=999999999999999999999999', 50],
  ['wait=007', 7],
  ['WAIT=5', 5],
  ['wait = 5', 5],
  ['wait="5"', 5],
  ['wait=5;foo=bar', 5],
  ['wait=5 ; foo="a,b"', 5],
  ['respond-async, wait=5', 5],
  ['handling=lenient;x="wait=9, y", wait=5', 5],
  ['foo="say \\"hi, wait=9\\"", wait=5', 5],
  ['wait=5, wait=9', 5],
  ['wait=soon, wait=9', undefined],
  ['wait=0', undefined],
  ['wait=-5', undefined],
  ['wait=2.5', undefined],
  ['wait=1e1', undefined],
  ['wait=5s', undefined],
  ['wait=', undefined],
  ['wait=""', undefined],
  ['wait', undefined],
  ['waits=5', undefined],
  ['return=minimal', undefined],
  ['"wait=5"', undefined],
  [',,', undefined],
  ['', undefined],
];

describe('Prefer (RFC 7240)', () => {
  it.each(READ)('%s is read as %s', (prefer, seconds) => expect(parseWait(prefer)).toBe(seconds));

  it('is read from several header lines', () => expect(parseWait(['return=minimal', 'wait=5'])).toBe(5));

  it.each(['"', '="', 'wait=', ';', ' ', ',', '\\"', '"\\', 'a=" ,'])(
    'is read in linear time: %s',
    (text) => {
      const long = text.repeat(LONG / text.length);
      for (const prefer of [long, `x${long}`, `wait=${long}x y`, `x=${long}"`])
        expect(fastestMs(() => parseWait(prefer))).toBeLessThan(MAX_MS);
    },
  );
});

describe('the preference is ignored', () => {
  const service = shareService();
  const headers = { prefer: 'wait=50' };

  it.each([
    ['without since', '', 'GET'],
    ['with HEAD', 'since=2026-01-01', 'HEAD'],
  ])('%s', async (_name, query, method) => {
    const response = await service().poll('boss', query, { method, headers });
    expect(response.status).toBe(200);
    expect(response.headers.get('preference-applied')).toBeNull();
    expect(response.headers.get('vary')).toBe('Authorization, Prefer');
  });

  it('by the checks, which refuse at once', async () => {
    const poll = async (userId: string, query: string) =>
      (await service().poll(userId, query, { headers })).status;
    expect(await poll('starter', 'since=2026-01-01')).toBe(403);
    expect(await poll('stranger', 'since=2026-01-01')).toBe(404);
    expect(await poll('boss', 'since=yesterday')).toBe(400);
  });
});
