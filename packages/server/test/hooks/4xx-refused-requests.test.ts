import { describe, expect, it, vi } from 'vitest';
import { expectProblem } from '../../../testing/harness/problem.ts';
import {
  onlyAnswer,
  openSocket,
  parseAnswers,
  readToEnd,
  requestText,
  sendRawOnce,
} from '../../../testing/harness/raw-http.ts';
import { leaveRequests, startService } from '../../../testing/harness/service.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';
import { hooksRequest, postHook, subscribe, ZAPIER_URL } from './support/hooks.ts';

const service = shareService();
const HOOK = { url: ZAPIER_URL };

it('429 after the requests of the user, which polls use up too', async () => {
  const test = await startService();
  await leaveRequests(test, 'boss', 1);
  const token = await test.token('boss');
  const { id } = await subscribe(test, token, ZAPIER_URL);
  await expectProblem(await postHook(test, token, HOOK), 'rate-limit-exceeded');
  await expectProblem(await hooksRequest(test, token, { path: `/${id}` }), 'rate-limit-exceeded');
  expect((await hooksRequest(test, token, { path: `/${id}`, method: 'DELETE' })).status).toBe(204);
});

describe('a token that is revoked gets neither 201 nor a secret', () => {
  it('while the body arrives, and nothing is stored', async () => {
    const test = await startService();
    const consume = vi.spyOn(test.limiters.users, 'consume');
    const token = await test.token('boss', { tokenId: 'late' });
    const body = JSON.stringify(HOOK);
    const socket = await openSocket(test.url);
    const received = readToEnd(socket);
    const head = requestText(
      'POST /automation/hooks HTTP/1.1',
      'Host: a',
      `Authorization: Bearer ${token}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Connection: close',
    );
    socket.write(`${head}${body.slice(0, -1)}`);
    await vi.waitFor(() => expect(consume).toHaveResolved());
    await test.store.revokeToken('late');
    socket.write(body.slice(-1));
    await expectProblem(onlyAnswer(parseAnswers(await received)), 'token-revoked');
    expect(await test.store.hooks.hasHooks()).toBe(false);
  });

  it('while it waits for the database', async () => {
    const test = await startService();
    const { hooks } = test.store;
    const { subscribe: store } = hooks;
    vi.spyOn(hooks, 'subscribe').mockImplementationOnce(async (...args) => {
      await test.store.revokeToken('late');
      return store.apply(hooks, args);
    });
    const token = await test.token('boss', { tokenId: 'late' });
    await expectProblem(await postHook(test, token, HOOK), 'token-revoked');
  });
});

it.each(['x/', '%2e%2e/', '/', 'x%2f'])(
  '404 for a path that only ends like that of a hook: %s',
  async (part) => {
    const token = await service().token('rival');
    const { id } = await subscribe(service(), token, ZAPIER_URL);
    // As it is: `fetch` would normalise the path.
    const send = (method: string) =>
      sendRawOnce(
        service().url,
        requestText(
          `${method} /automation/hooks/${part}${id} HTTP/1.1`,
          'Host: a',
          `Authorization: Bearer ${token}`,
          'Connection: close',
        ),
      );
    await expectProblem(await send('GET'), 'no-such-resource');
    if (part !== 'x%2f') await expectProblem(await send('DELETE'), 'no-such-resource');
    expect((await hooksRequest(service(), token, { path: `/${id}` })).status).toBe(200);
  },
);

describe('bodies that are no subscription', () => {
  it.each([
    ['no content type', '{}', { 'content-type': '' }, 'unsupported-media-type'],
    ['a form', 'url=x', { 'content-type': 'application/x-www-form-urlencoded' }, 'unsupported-media-type'],
    [
      'another charset',
      '{}',
      { 'content-type': 'application/json; charset=latin1' },
      'unsupported-media-type',
    ],
    ['compressed', '{}', { 'content-encoding': 'gzip' }, 'unsupported-media-type'],
    ['too large', `{"a":"${'x'.repeat(16 * 1024)}"}`, {}, 'payload-too-large'],
    ['empty', '', {}, 'malformed-request'],
    ['no JSON', '{"url":', {}, 'malformed-request'],
    ['brackets', '['.repeat(15_000), {}, 'malformed-request'],
    ['null', 'null', {}, 'invalid-hook'],
    ['a text', `"${ZAPIER_URL}"`, {}, 'invalid-hook'],
    ['a number', '1', {}, 'invalid-hook'],
    ['an array', `[{"url":"${ZAPIER_URL}"}]`, {}, 'invalid-hook'],
    ['an empty object', '{}', {}, 'invalid-hook'],
    ['a url that is no text', '{"url":1}', {}, 'invalid-hook'],
    ['an empty url', '{"url":""}', {}, 'invalid-hook'],
    ['a since that is no time', `{"url":"${ZAPIER_URL}","since":"yesterday"}`, {}, 'invalid-hook'],
    [
      'a since in the future with send',
      `{"url":"${ZAPIER_URL}","since":"2099-01-01","send":"lead"}`,
      {},
      'invalid-hook',
    ],
    ['batches of leads', `{"url":"${ZAPIER_URL}","send":"leads"}`, {}, 'invalid-hook'],
    ['a since that is a number', `{"url":"${ZAPIER_URL}","since":1772443800}`, {}, 'invalid-hook'],
  ] as const)('%s', async (_name, body, headers, code) => {
    // A user of its own: the requests of one are limited.
    const token = await service().token('seller');
    await expectProblem(await postHook(service(), token, body, headers), code);
  });

  it('chunked and too large', async () => {
    const token = await service().token('boss');
    const size = (17 * 1024).toString(16);
    const answer = await sendRawOnce(
      service().url,
      `${requestText(
        'POST /automation/hooks HTTP/1.1',
        'Host: a',
        `Authorization: Bearer ${token}`,
        'Content-Type: application/json',
        'Transfer-Encoding: chunked',
        'Connection: close',
      )}${size}\r\n${' '.repeat(17 * 1024)}\r\n0\r\n\r\n`,
    );
    await expectProblem(answer, 'payload-too-large');
  });

  it('two Host headers, and a Host that is too long', async () => {
    const token = await service().token('boss');
    const post = (...hosts: string[]) =>
      sendRawOnce(
        service().url,
        requestText(
          'POST /automation/hooks HTTP/1.1',
          ...hosts.map((host) => `Host: ${host}`),
          `Authorization: Bearer ${token}`,
          `x-ms-notification-url: ${ZAPIER_URL}`,
          'Connection: close',
        ),
      );
    await expectProblem(await post('a', 'b'), 'malformed-request');
    await expectProblem(await post('a'.repeat(3000)), 'malformed-request');
    const spoofed = await post('evil.test');
    expect(spoofed.headers['location']).toMatch(/^http:\/\/evil\.test\/automation\/hooks\//);
  });
});

it('409 too-many-hooks: 20 for each user, over all tokens, also at once', async () => {
  const test = await startService();
  const tokens = [await test.token('boss'), await test.token('boss')];
  const responses = await Promise.all(
    Array.from({ length: 30 }, (_, index) =>
      postHook(test, tokens[index % 2], { url: `${ZAPIER_URL}${index}` }),
    ),
  );
  expect(responses.filter(({ status }) => status === 201)).toHaveLength(20);
  const refused = responses.filter(({ status }) => status !== 201);
  for (const response of refused) await expectProblem(response, 'too-many-hooks');
  expect((await postHook(test, await test.token('rival'), HOOK)).status).toBe(201);
});

it('429 for deletes, by address and apart from failed tokens', async () => {
  const test = await startService({
    limits: { failedTokenPolicies: [{ name: 'failed-tokens', quota: 2, windowS: 60 }] },
  });
  const remove = () => hooksRequest(test, undefined, { path: `/${'0'.repeat(32)}`, method: 'DELETE' });
  expect([(await remove()).status, (await remove()).status]).toEqual([204, 204]);
  const { violatedPolicies } = await expectProblem(await remove(), 'rate-limit-exceeded');
  expect(violatedPolicies).toEqual(['failed-tokens']);
  await expectProblem(await postHook(test, 'nonsense', HOOK), 'token-invalid');
});

it('the log has neither the URL, nor the id, nor the secret of a hook', async () => {
  const lines: string[] = [];
  const test = await startService({ logTo: { write: (line) => lines.push(line) } });
  const token = await test.token('boss');
  const { id, secret } = await subscribe(test, token, `${ZAPIER_URL}?secret-part`);
  await hooksRequest(test, token, { path: `/${id}` });
  await hooksRequest(test, token, { path: `/${id}`, method: 'DELETE' });
  const log = lines.join('');
  expect(log).toContain('/automation/hooks/{id}');
  for (const text of [id, secret, 'secret-part']) expect(log).not.toContain(text);
});
