import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type PlainPoll, readPlainPoll } from '../../../src/http/lane/plain-poll.ts';

let server: Server;
let read: (IncomingMessage | 'error')[] = [];

beforeAll(async () => {
  server = createServer({ requireHostHeader: false }, (request, response) => {
    read.push(request);
    response.end();
  });
  server.on('clientError', (_error, socket) => {
    read.push('error');
    socket.destroy();
  });
  for (const event of ['checkContinue', 'checkExpectation', 'upgrade', 'connect'])
    server.on(event, (_request, socket) => {
      read.push('error');
      socket.destroy();
    });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterAll(() => new Promise((resolve) => server.close(resolve)));

/** What Node makes of a text: every request in it, or that it is none. */
async function asNodeReads(text: string): Promise<typeof read> {
  read = [];
  const { port } = server.address() as AddressInfo;
  const socket = connect({ host: '127.0.0.1', port });
  socket.end(text, 'latin1');
  socket.resume();
  await new Promise((resolve) => socket.once('close', resolve));
  return read;
}

const headersOf = ({ host, authorization, ifNoneMatch, requestId, traceparent }: PlainPoll) => ({
  host,
  authorization,
  'if-none-match': ifNoneMatch,
  'x-request-id': requestId,
  traceparent,
});

async function expectNodeReads(text: string, poll: PlainPoll): Promise<void> {
  const [request, ...others] = await asNodeReads(text);
  if (request === undefined || request === 'error') throw new Error('Node does not take it for a request');
  expect(others).toEqual([]);
  const { method, url, httpVersion, headers } = request;
  expect({ method, httpVersion }).toEqual({ method: 'GET', httpVersion: '1.1' });
  expect(url).toBe(text.split(' ')[1]);
  expect([NEW_LEADS_PATH, `${NEW_LEADS_PATH}?${poll.search}`]).toContain(url);
  expect(headersOf(poll)).toEqual(
    Object.fromEntries(Object.keys(headersOf(poll)).map((name) => [name, headers[name]])),
  );
  expect(headers.connection?.toLowerCase() === 'close').toBe(poll.isLast);
  expect([headers['content-length'], headers['transfer-encoding']]).toEqual([undefined, undefined]);
}

/** Nearly always the first: what is odd in every part is never plain. */
const mostly = (usual: fc.Arbitrary<string>, ...odd: readonly string[]): fc.Arbitrary<string> =>
  fc.oneof({ weight: 12, arbitrary: usual }, { weight: 1, arbitrary: fc.constantFrom(...odd) });
const nearly = (usual: string, ...odd: readonly string[]) => mostly(fc.constant(usual), ...odd);

const READ = ['Authorization', 'If-None-Match', 'X-Request-Id', 'traceparent', 'Connection'];
const HARMLESS = ['Accept', 'User-Agent', 'Accept-Encoding', 'Content-Type', 'Keep-Alive', 'X_Odd', 'Cookie'];
const HARMFUL = [
  'HTTP2-Settings',
  'Content-Length',
  'Transfer-Encoding',
  'Expect',
  'Upgrade',
  'TE',
  'Trailer',
  'Proxy-Connection',
];
const PRINTABLE = ['Bearer abc', '"tag"', 'W/"tag", "other"', 'leads.example:80', '', ' x  ', '*', 'a: b'];
const MEANINGFUL = ['keep-alive', 'close', 'Close', 'upgrade', 'chunked', '0', '5', '100-continue'];

/** A name says the same however it is spelled. */
const SPELLINGS: readonly ((name: string) => string)[] = [
  (name) => name,
  (name) => name.toLowerCase(),
  (name) => name.toUpperCase(),
  (name) => name.replaceAll(/./g, (letter, at) => (at % 2 ? letter.toUpperCase() : letter.toLowerCase())),
];

const line = fc.record({
  name: fc
    .tuple(mostly(fc.constantFrom(...READ, ...HARMLESS), 'Host', ...HARMFUL), fc.constantFrom(...SPELLINGS))
    .map(([name, spell]) => spell(name)),
  gap: nearly(': ', ':', ':  ', ' : ', ':\t'),
  value: mostly(fc.constantFrom(...PRINTABLE, ...MEANINGFUL), 'a\tb', 'é', '\x7f', '\0'),
});
const noise = fc.constantFrom('\r', '\n', '\r\n', ' ', '\t', ':', '\0', 'é', '\r\n\r\n', '\r\n ', 'x');

/** What clients send, what they would never send, and what lies in between. */
const request = fc
  .record({
    method: nearly('GET ', 'GET  ', 'HEAD ', 'get ', ' GET ', '\r\nGET '),
    path: nearly(NEW_LEADS_PATH, `${NEW_LEADS_PATH}/`, `${NEW_LEADS_PATH}x`, '/', '*'),
    query: mostly(
      fc.constantFrom('', '?limit=1', '?since=2026-03-02T09:30:00.001Z&limit=100'),
      '?',
      '?#',
      '?é',
      '? ',
    ),
    version: nearly(
      ' HTTP/1.1\r\n',
      ' HTTP/1.0\r\n',
      ' HTTP/1.1\n',
      ' HTTP/1.1 \r\n',
      '\r\n',
      ' HTTP/2.0\r\n',
    ),
    host: nearly('Host: leads.example\r\n', '', 'Host:\r\n', 'Host : a\r\n'),
    lines: fc.array(line, { maxLength: 4 }),
    end: nearly('\r\n', '', '\r\nGET / HTTP/1.1\r\n\r\n', '\r\nbody', '\n'),
    broken: fc.option(fc.record({ at: fc.nat(400), what: noise }), { freq: 2 }),
  })
  .map(({ method, path, query, version, host, lines, end, broken }) => {
    const headers = lines.map(({ name, gap, value }) => `${name}${gap}${value}\r\n`).join('');
    const whole = method + path + query + version + host + headers + end;
    const at = broken ? broken.at % (whole.length + 1) : 0;
    return whole.slice(0, at) + (broken?.what ?? '') + whole.slice(at);
  });

it('whatever the lane takes for a plain poll is the one request that Node reads in the same bytes', async () => {
  let plain = 0;
  await fc.assert(
    fc.asyncProperty(request, async (text) => {
      const poll = readPlainPoll(text, NEW_LEADS_PATH);
      if (!poll) return;
      plain += 1;
      await expectNodeReads(text, poll);
    }),
    { numRuns: 3000 },
  );
  // Else it has shown nothing.
  expect(plain).toBeGreaterThan(100);
});

it.each([
  ['', 'Accept: */*', 'Accept-Encoding: gzip, br', 'User-Agent: Zapier'],
  ['?limit=100', 'Accept: application/json', 'Connection: keep-alive', 'Content-Type: application/json'],
  ['?since=2026-03-02T09:30:00.001Z&limit=100', 'Connection: close', 'If-None-Match: "abc"'],
  ['?since=2026-03-02T10%3A30%3A00.001%2B01%3A00', 'traceparent: 00-0-0-01', 'X-Request-Id: mine'],
])('what clients send is plain: %s', async (search, ...headers) => {
  const lines = ['Host: leads.example', 'Authorization: Bearer a.b-c_d', ...headers];
  const text = `GET ${NEW_LEADS_PATH}${search} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
  const poll = readPlainPoll(text, NEW_LEADS_PATH);
  if (!poll) throw new Error('it is not plain');
  await expectNodeReads(text, poll);
});

it.each([
  ['a length', 'Content-Length: 5'],
  ['a length of nothing', 'Content-Length: 0'],
  ['pieces', 'Transfer-Encoding: chunked'],
  ['a line that goes on', 'X-Long: a\r\n b'],
  ['another line end', 'X-Odd: a\nX-Other: b'],
  ['a space before the colon', 'Content-Length : 5'],
  ['a second Host', 'Host: other'],
  ['a second token', 'Authorization: Bearer d'],
  ['an upgrade', 'Connection: upgrade'],
  ['an expectation', 'Expect: 100-continue'],
  ['letters beyond ASCII', 'X-Name: é'],
  ['more headers than Node keeps', 'a:\r\n'.repeat(999).trimEnd()],
])('%s is left to Node', (_what, header) => {
  const lines = ['Host: leads.example', 'Authorization: Bearer abc', header];
  const text = `GET ${NEW_LEADS_PATH} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
  expect(readPlainPoll(text, NEW_LEADS_PATH)).toBeUndefined();
});

it.each(HARMFUL)('%s is left to Node, however it is spelled', (name) => {
  for (const spell of SPELLINGS) {
    const text = `GET ${NEW_LEADS_PATH} HTTP/1.1\r\nHost: a\r\n${spell(name)}: 5\r\n\r\n`;
    expect(readPlainPoll(text, NEW_LEADS_PATH), spell(name)).toBeUndefined();
  }
});
