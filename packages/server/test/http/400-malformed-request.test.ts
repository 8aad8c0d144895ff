import { NEW_LEADS_PATH } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { expectProblem } from '../../../testing/harness/problem.ts';
import {
  openSocket,
  parseAnswers,
  readToEnd,
  requestText,
  sendRaw,
  sendRawOnce,
} from '../../../testing/harness/raw-http.ts';
import { startService } from '../../../testing/harness/service.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';
import { eventually } from '../faults/eventually.ts';

const GET = `GET ${NEW_LEADS_PATH} HTTP/1.1`;

const MALFORMED: [string, string][] = [
  ['garbage', 'hello\r\n\r\n'],
  ['a lone NUL', '\0'],
  ['a method that is none', requestText(`BREW ${NEW_LEADS_PATH} HTTP/1.1`, 'Host: x')],
  ['a TLS greeting', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ['the greeting of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['an HTTP version that is none', requestText(`GET ${NEW_LEADS_PATH} HTTP/3.7`, 'Host: x')],
  ['a protocol that is none', requestText(`GET ${NEW_LEADS_PATH} FTP/1.1`, 'Host: x')],
  ['no Host', requestText(GET, 'Connection: close')],
  ['a header without a colon', requestText(GET, 'Host: x', 'nonsense')],
  ['a space before the colon', requestText(GET, 'Host : x')],
  ['a folded header', requestText(GET, 'Host: x', 'X-A: 1', ' 2')],
  ['a NUL in a header', requestText(GET, 'Host: x', 'X-A: a\0b')],
  ['a bare CR in a header', requestText(GET, 'Host: x', 'X-A: a\rX-B: b')],
  ['two lengths', requestText(GET, 'Host: x', 'Content-Length: 1', 'Content-Length: 2')],
  ['a negative length', requestText(GET, 'Host: x', 'Content-Length: -1')],
  ['a length and chunks', requestText(GET, 'Host: x', 'Content-Length: 1', 'Transfer-Encoding: chunked')],
  ['two Hosts', requestText(GET, 'Host: x', 'HOST: x')],
  ['two Authorizations', requestText(GET, 'Host: x', 'Authorization: Bearer a', 'authorization: Bearer b')],
  [
    'another encoding before chunks',
    `${requestText(GET, 'Host: x', 'Transfer-Encoding: gzip, chunked')}0\r\n\r\n`,
  ],
  ['chunks twice', `${requestText(GET, 'Host: x', 'Transfer-Encoding: chunked, chunked')}0\r\n\r\n`],
  [
    'chunks in two lines',
    `${requestText(GET, 'Host: x', 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
  ],
  ['an unknown encoding', requestText(GET, 'Host: x', 'Transfer-Encoding: gzip')],
  [
    'an encoding that looks like chunks',
    `${requestText(GET, 'Host: x', 'Transfer-Encoding: xchunked')}0\r\n\r\n`,
  ],
  ['a bad percent-encoding in the path', requestText('GET /%ZZ HTTP/1.1', 'Host: x', 'Connection: close')],
  [
    'a cut percent-encoding',
    requestText(`${GET.replace(' HTTP', '% HTTP')}`, 'Host: x', 'Connection: close'),
  ],
  ['a path that is not UTF-8', requestText('GET /%ff HTTP/1.1', 'Host: x', 'Connection: close')],
];

describe('400 malformed-request', () => {
  const shared = shareService();

  it.each(MALFORMED)('answers %s, and closes the connection', async (_what, text) => {
    const answer = await sendRawOnce(shared().url, text);
    await expectProblem(answer, 'malformed-request');
    expect(answer.headers['connection']).toBe('close');
    expect(Date.parse(answer.headers['date'] ?? '')).not.toBeNaN();
  });

  it('has a new request id each time', async () => {
    const text = requestText(GET, 'Host: x', 'X-Request-Id: mine', 'nonsense');
    const ids = [...(await sendRaw(shared().url, text)), ...(await sendRaw(shared().url, text))].map(
      ({ headers }) => headers['x-request-id'],
    );
    expect(new Set(ids).size).toBe(2);
    expect(ids).not.toContain('mine');
  });

  it('is not caused by a bad percent-encoding in an unknown parameter', async () => {
    const authorization = `Bearer ${await shared().token('boss')}`;
    const [answer] = await sendRaw(
      shared().url,
      requestText(
        `GET ${NEW_LEADS_PATH}?utm=%ZZ HTTP/1.1`,
        'Host: x',
        'Connection: close',
        `Authorization: ${authorization}`,
      ),
    );
    expect(answer?.status).toBe(200);
  });

  it('does not affect other clients', async () => {
    for (const [, text] of MALFORMED) await sendRaw(shared().url, text);
    expect((await shared().poll('boss')).status).toBe(200);
  });
});

describe('400 malformed-request, if the client keeps the connection open', () => {
  it('the server closes the connection', async () => {
    const { url, service } = await startService();
    const socket = await openSocket(url, { allowHalfOpen: true });
    const ended = new Promise<void>((resolve) => socket.once('end', resolve));
    socket.resume();
    socket.write('garbage\r\n\r\n');
    await ended;
    const connections = () =>
      new Promise<number>((resolve) =>
        service.publicServer.server.getConnections((_error, count) => resolve(count)),
      );
    await eventually(async () => expect(await connections()).toBe(0));
    socket.destroy();
  });

  it('there is one response, however much the client sends', async () => {
    const { url } = await startService();
    const socket = await openSocket(url);
    const received = readToEnd(socket);
    for (let i = 0; i < 50; i += 1) socket.write(`garbage ${'x'.repeat(10_000)}\r\n\r\n`);
    const answers = parseAnswers(await received);
    expect(answers.map(({ status }) => status)).toEqual([400]);
  });
});
