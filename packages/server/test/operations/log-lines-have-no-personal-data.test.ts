import { StoreUnavailableError } from 'leadtap';
import { describe, expect, it, vi } from 'vitest';
import { beforeQuestion } from '../../../testing/harness/before-question.ts';
import { startService } from '../../../testing/harness/service.ts';
import { connectRaw } from './raw-connection.ts';

type Line = Readonly<Record<string, unknown>>;

/** Collects log lines. The parser throws if one is not a line of JSON. */
function collectLog() {
  const texts: string[] = [];
  return {
    write: (text: string) => void texts.push(text),
    text: () => texts.join(''),
    lines: (): Line[] => texts.map((text) => JSON.parse(text)),
    requests: (): Line[] => texts.map((text) => JSON.parse(text)).filter(({ msg }) => msg === 'request'),
  };
}

const PERSON = {
  firstName: 'Wilhelmina',
  lastName: 'Featherstonehaugh',
  phone1: '+44 20 7946 0958',
  email: 'wilhelmina@lead.example',
  address: '221B Baker Street',
};
const CALLER = '203.0.113.77';

describe('the log', () => {
  it('has no token, lead data, query string or client address', async () => {
    const log = collectLog();
    const { add, url, token, store, poll } = await startService({
      logTo: log,
      env: { LEADTAP_TRUST_PROXY: '1' },
    });
    await add({ id: 'lead-4711', fields: PERSON });
    const bearer = await token('boss');
    const headers = { authorization: `Bearer ${bearer}`, 'x-forwarded-for': CALLER };
    const get = (path: string) => fetch(`${url}${path}`, { headers });
    const answer = await (await get('/automation/new-leads?contact=ada%40lead.example')).text();
    expect(answer).toContain(PERSON.email);
    await get(`/automation/new-leads?limit=0&contact=ada@lead.example&access_token=${bearer}`);
    await get(`/automation/new-leads%3Fcontact=ada@lead.example&access_token=${bearer}`);
    await get('/nowhere?contact=ada@lead.example');
    await get('/%zz?contact=ada@lead.example');
    await get('/livez?contact=ada@lead.example');
    await fetch(`${url}/automation/new-leads`, {
      headers: { ...headers, authorization: 'Bearer s3cr3t-guess' },
    });
    await fetch(`${url}/automation/new-leads`, { method: 'POST', body: PERSON.email, headers });
    beforeQuestion(store, 'revalidate', () => Promise.reject(new Error('the disk is on fire')));
    expect((await poll('boss', 'contact=ada@lead.example', { headers })).status).toBe(500);

    const text = log.text();
    expect(text).toContain('the disk is on fire');
    const secrets = [bearer, ...bearer.split('.'), 's3cr3t-guess', 'Bearer'];
    const personal = [...Object.values(PERSON), 'lead.example', 'contact=', 'lead-4711', 'boss@example.com'];
    for (const word of [...secrets, ...personal, CALLER]) expect(text).not.toContain(word);
    const ofRequests = log.lines().filter(({ requestId }) => requestId !== undefined);
    expect(JSON.stringify(ofRequests)).not.toContain('127.0.0.1');
  });

  it('has one line for each request, with its result', async () => {
    const log = collectLog();
    const { url, token, add } = await startService({ logTo: log });
    await add({}, {});
    const headers = { authorization: `Bearer ${await token('boss', { tokenId: 'token-7' })}` };
    const first = await fetch(`${url}/automation/new-leads?limit=5`, { headers });
    await fetch(`${url}/automation/new-leads?limit=x`, { headers: { ...headers, 'x-request-id': 'mine-1' } });
    await fetch(`${url}/nowhere`);
    expect(log.requests()).toEqual([
      expect.objectContaining({
        level: 'info',
        requestId: first.headers.get('x-request-id'),
        method: 'GET',
        path: '/automation/new-leads',
        status: 200,
        durationMs: expect.any(Number),
        leads: 2,
        tokenId: 'token-7',
      }),
      expect.objectContaining({
        requestId: 'mine-1',
        status: 400,
        code: 'invalid-query',
        tokenId: 'token-7',
      }),
      expect.objectContaining({ status: 404, code: 'no-such-resource' }),
    ]);
    expect(log.lines().filter(({ requestId }) => requestId !== undefined)).toHaveLength(3);
  });

  it('never has the path that was sent', async () => {
    const log = collectLog();
    const { url } = await startService({ logTo: log });
    await fetch(`${url}/automation/new-leads&access_token=SECRET`);
    await fetch(`${url}/leads/ada@lead.example`);
    await fetch(`${url}/%zz/SECRET`);
    expect(log.requests()).toHaveLength(3);
    expect(log.text()).not.toMatch(/SECRET|ada@/);
  });

  it('has a line for input that is not a request, with the request id of the response', async () => {
    const log = collectLog();
    const { url } = await startService({ logTo: log });
    const { socket, received } = await connectRaw(url);
    socket.write('this is not HTTP\r\n\r\n');
    const [, garbageId] = /X-Request-Id: (\S+)/i.exec(await received) ?? [];
    const unroutable = await fetch(`${url}/%zz`);
    expect(log.requests()).toMatchObject([
      { requestId: garbageId, status: 400, code: 'malformed-request' },
      { requestId: unroutable.headers.get('x-request-id'), status: 400, code: 'malformed-request' },
    ]);
  });

  it('has the cause of a 500, with the request id of the response', async () => {
    const log = collectLog();
    const { store, poll } = await startService({ logTo: log });
    beforeQuestion(store, 'revalidate', () => Promise.reject(new Error('the disk is on fire')));
    const requestId = (await poll('boss')).headers.get('x-request-id');
    const [cause, request, ...rest] = log.lines().filter((line) => line['requestId'] === requestId);
    expect(cause).toMatchObject({
      level: 'error',
      code: 'internal-error',
      err: { message: 'the disk is on fire', stack: expect.stringContaining('no-personal-data') },
    });
    expect(request).toMatchObject({ msg: 'request', status: 500, code: 'internal-error' });
    expect(rest).toEqual([]);
  });

  it('has the cause of a 503 without a stack, once a minute at level error, otherwise at level debug', async () => {
    const log = collectLog();
    const { store, poll } = await startService({ logTo: log });
    const cause = new StoreUnavailableError('the database cannot be reached', {
      cause: new Error('no route'),
    });
    beforeQuestion(store, 'revalidate', () => Promise.reject(cause));
    for (let polls = 0; polls < 3; polls += 1) expect((await poll('boss')).status).toBe(503);
    const causes = log.lines().filter(({ err }) => err !== undefined);
    expect(causes.map(({ level }) => level)).toEqual(['error', 'debug', 'debug']);
    expect(causes[0]).toMatchObject({
      code: 'unavailable',
      err: { type: 'StoreUnavailableError', message: 'the database cannot be reached: no route' },
    });
    expect(log.text()).not.toContain('"stack"');
  });

  it('has probes at level debug', async () => {
    const log = collectLog();
    const { url } = await startService({ logTo: log, env: { LEADTAP_BASE_PATH: '/api' } });
    for (const base of [url, new URL(url).origin])
      for (const path of ['/livez', '/readyz']) await fetch(`${base}${path}`);
    expect(log.requests().map(({ level }) => level)).toEqual(['debug', 'debug', 'debug', 'debug']);
  });

  it('has similar paths and failed probes at level info', async () => {
    const log = collectLog();
    const { url, store } = await startService({ logTo: log });
    for (const path of ['/anything/livez', '/api/readyz', '/livez/livez']) await fetch(`${url}${path}`);
    await fetch(`${url}/livez`, { method: 'POST' });
    vi.spyOn(store, 'ping').mockRejectedValueOnce(new Error('the disk is on fire'));
    await fetch(`${url}/readyz`);
    expect(log.requests().map(({ level, status }) => [level, status])).toEqual([
      ['info', 404],
      ['info', 404],
      ['info', 404],
      ['info', 405],
      ['info', 503],
    ]);
  });

  it.each([
    ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', '4bf92f3577b34da6a3ce929d0e0e4736'],
    ['cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more', '4bf92f3577b34da6a3ce929d0e0e4736'],
    ['ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', undefined],
    ['00-00000000000000000000000000000000-00f067aa0ba902b7-01', undefined],
    ['00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01', undefined],
    ['00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01', undefined],
    ['ada@lead.example', undefined],
  ])('has the trace id of the client: traceparent %s', async (traceparent, traceId) => {
    const log = collectLog();
    const { poll } = await startService({ logTo: log });
    await poll('boss', '', { headers: { traceparent } });
    expect(log.requests().map((line) => line['traceId'])).toEqual([traceId]);
    expect(log.text()).not.toContain('ada@');
  });
});
