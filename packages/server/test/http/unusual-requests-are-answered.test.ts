import { NEW_LEADS_PATH } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import {
  openSocket,
  parseAnswers,
  readToEnd,
  requestText,
  sendRaw,
} from '../../../testing/harness/raw-http.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';

const shared = shareService();

const authorization = async (userId = 'boss') => `Authorization: Bearer ${await shared().token(userId)}`;

describe('unusual requests get the usual response', () => {
  it('HTTP/1.0 without a Host', async () => {
    const text = requestText(`GET ${NEW_LEADS_PATH} HTTP/1.0`, await authorization());
    const [answer] = await sendRaw(shared().url, text);
    expect(answer).toMatchObject({ status: 200, body: '[]' });
    expect(answer?.headers['link']).toContain(`<${shared().url}${NEW_LEADS_PATH}?`);
    expect(answer?.headers['transfer-encoding']).toBeUndefined();
  });

  it('a GET with Content-Type JSON and no body, as the reference request is', async () => {
    const headers = { 'content-type': 'application/json' };
    expect((await shared().poll('boss', '', { headers })).status).toBe(200);
  });

  it.each([
    ['JSON', 'application/json', '{"limit":1}'],
    ['broken JSON', 'application/json', '{'],
    ['of an unknown type', 'application/x-unknown', 'x'],
    ['of no type at all', '', 'x'],
    ['larger than any limit', 'text/plain', 'x'.repeat(100_000)],
  ])('a GET with a body %s', async (_what, type, body) => {
    const text = requestText(
      `GET ${NEW_LEADS_PATH} HTTP/1.1`,
      'Host: x',
      'Connection: close',
      await authorization(),
      ...(type === '' ? [] : [`Content-Type: ${type}`]),
      `Content-Length: ${body.length}`,
    );
    const answers = await sendRaw(shared().url, `${text}${body}`);
    expect(answers).toMatchObject([{ status: 200, body: '[]' }]);
  });

  it('a GET with a body in chunks', async () => {
    const head = ['Host: x', 'Connection: close', 'Transfer-Encoding: chunked', await authorization()];
    const text = `${requestText(`GET ${NEW_LEADS_PATH} HTTP/1.1`, ...head)}3\r\nabc\r\n0\r\n\r\n`;
    expect(await sendRaw(shared().url, text)).toMatchObject([{ status: 200, body: '[]' }]);
  });

  // RFC 9112, section 6.1: its framing counts as faulty, so nothing after it is a request.
  it('HTTP/1.0 with a body in chunks, after which the connection is closed', async () => {
    const head = ['Connection: keep-alive', 'Transfer-Encoding: chunked', await authorization()];
    const text = requestText(`GET ${NEW_LEADS_PATH} HTTP/1.0`, ...head);
    const next = requestText(`GET ${NEW_LEADS_PATH} HTTP/1.0`, await authorization());
    const answers = await sendRaw(shared().url, `${text}3\r\nabc\r\n0\r\n\r\n${next}`);
    expect(answers).toMatchObject([{ status: 200, headers: { connection: 'close' }, body: '[]' }]);
  });

  it.each([
    ['an absolute address', `http://leads.example.com${NEW_LEADS_PATH}?limit=5`],
    ['a path with encoded letters', NEW_LEADS_PATH.replace('n', '%6e')],
    ['an empty query', `${NEW_LEADS_PATH}?`],
    ['a query of ampersands', `${NEW_LEADS_PATH}?&&`],
  ])('%s', async (_what, target) => {
    const head = ['Host: x', 'Connection: close', await authorization()];
    expect(await sendRaw(shared().url, requestText(`GET ${target} HTTP/1.1`, ...head))).toMatchObject([
      { status: 200, body: '[]' },
    ]);
  });

  it.each([
    'Expect: tea',
    'Accept-Version: 9.x',
    'Upgrade: websocket',
    'Range: bytes=0-0',
    'If-Match: "x"',
    'If-Modified-Since: Fri, 31 Dec 2099 23:59:59 GMT',
    'X-HTTP-Method-Override: DELETE',
    'Accept-Encoding: gzip',
    'Origin: https://evil.example',
  ])('an unknown header: %s', async (line) => {
    const head = ['Host: x', 'Connection: close', await authorization(), line];
    const answers = await sendRaw(shared().url, requestText(`GET ${NEW_LEADS_PATH} HTTP/1.1`, ...head));
    expect(answers).toMatchObject([{ status: 200, body: '[]' }]);
  });
});

describe('several requests on one connection', () => {
  const request = async (query: string, ...lines: readonly string[]) =>
    requestText(`GET ${NEW_LEADS_PATH}?${query} HTTP/1.1`, 'Host: x', await authorization(), ...lines);

  it('are answered in their order if they arrive at once', async () => {
    const text = [
      await request('limit=1', 'X-Request-Id: one'),
      await request('limit=0', 'X-Request-Id: two'),
      requestText('GET /nowhere HTTP/1.1', 'Host: x', 'X-Request-Id: three'),
      await request('limit=4', 'X-Request-Id: four', 'Connection: close'),
    ].join('');
    const answers = await sendRaw(shared().url, text);
    expect(answers.map(({ status, headers }) => [status, headers['x-request-id']])).toEqual([
      [200, 'one'],
      [400, 'two'],
      [404, 'three'],
      [200, 'four'],
    ]);
  });

  it('are answered if they arrive in single bytes', async () => {
    const socket = await openSocket(shared().url);
    socket.setNoDelay(true);
    const received = readToEnd(socket);
    for (const byte of await request('limit=1', 'Connection: close')) socket.write(byte);
    expect(parseAnswers(await received)).toMatchObject([{ status: 200, body: '[]' }]);
  });

  it('are answered for their own users', async () => {
    const { add, url, token } = shared();
    await add({ id: 'ours' }, { id: 'theirs', companyId: 'globex' });
    const texts = await Promise.all(
      Array.from({ length: 20 }, async (_, i) =>
        requestText(
          `GET ${NEW_LEADS_PATH} HTTP/1.1`,
          'Host: x',
          `Authorization: Bearer ${await token(i % 2 ? 'rival' : 'boss')}`,
          ...(i === 19 ? ['Connection: close'] : []),
        ),
      ),
    );
    const answers = await sendRaw(url, texts.join(''));
    expect(answers.map(({ body }) => JSON.parse(body)[0].id)).toEqual(
      Array.from({ length: 20 }, (_, i) => (i % 2 ? 'theirs' : 'ours')),
    );
  });
});
