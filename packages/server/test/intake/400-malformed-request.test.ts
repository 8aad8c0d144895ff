import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { PROBLEMS } from '@leadtap/contract';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { sendBody, sendLeads, tokenWith } from '../../../testing/harness/intake.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { requestText, sendRawOnce } from '../../../testing/harness/raw-http.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';

const service = shareService();

describe('400 malformed-request', () => {
  it.each([
    ['an empty body', ''],
    ['text', 'Ada'],
    ['an unclosed object', '{"firstName":"Ada"'],
  ])('%s is not JSON', async (_what, body) => {
    const answer = await sendBody(service(), body);
    expect(answer.headers.get('ratelimit')).toMatch(/^"intake";r=\d+;t=60$/);
    const { detail } = await expectProblem(answer, 'malformed-request');
    expect(detail).toMatch(/^The body is not JSON/);
  });

  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

  it.each([
    ['arrays', nested(450_000)],
    ['arrays that are not closed', '['.repeat(1_000_000)],
    ['objects', `${'{"a":'.repeat(1001)}1${'}'.repeat(1001)}`],
  ])('%s in more than 1,000 levels are rejected before they are parsed', async (_what, body) => {
    const parse = vi.spyOn(JSON, 'parse');
    onTestFinished(() => parse.mockRestore());
    const answer = await sendBody(service(), body);
    expect(parse.mock.calls.filter(([text]) => text === body)).toEqual([]);
    const { detail } = await expectProblem(answer, 'malformed-request');
    expect(detail).toBe('The body is nested deeper than 1,000 levels. Flatten it.');
  });

  it.each([
    ['ends with other text', `[${Array(20_000).fill('{"a":{}}').join()}]x`],
    ['is not closed', `[${Array(20_000).fill('[]').join()}`],
  ])('an array that %s is rejected before it is parsed', async (_what, body) => {
    const parse = vi.spyOn(JSON, 'parse');
    onTestFinished(() => parse.mockRestore());
    const answer = await sendBody(service(), body);
    expect(parse.mock.calls.filter(([text]) => text === body)).toEqual([]);
    const { detail } = await expectProblem(answer, 'malformed-request');
    expect(detail).toMatch(/^The body is not JSON/);
  });

  const lead = (notes: string) => `{"firstName":"Ada","notes":${notes}}`;
  const values = (count: number) =>
    lead(
      `[${Array(count - 2)
        .fill('0')
        .join()}]`,
    );
  const names = (count: number) =>
    lead(`{${Array.from({ length: count - 2 }, (_, n) => `"${n}":0`).join()}}`);

  it.each([
    ['40,000 values', values(40_000), values(40_001)],
    ['10,000 names', names(10_000), names(10_001)],
  ])('a lead of more than %s is rejected before it is parsed', async (_what, largest, tooLarge) => {
    await expectProblem(await sendBody(service(), `[${largest},${largest}]`), 'invalid-lead');
    const parse = vi.spyOn(JSON, 'parse');
    onTestFinished(() => parse.mockRestore());
    const { detail } = await expectProblem(
      await sendBody(service(), `[{"firstName":"Ada"},${tooLarge}]`),
      'malformed-request',
    );
    expect(detail).toBe(
      'A lead has more than 40,000 values, or more than 10,000 of them have names. Send less.',
    );
    expect(parse.mock.calls.filter(([text]) => text.includes('Ada'))).toEqual([]);
  });

  it.each([
    ['brackets in a text', `[{"notes":7,"firstName":"${'['.repeat(2000)}"}]`],
    ['brackets in a text after an escaped quote', `[{"notes":7,"firstName":"\\"${'{'.repeat(2000)}"}]`],
    ['brackets one after the other', `[${'[],'.repeat(2000)}7]`],
  ])('%s are not nested too deep', async (_what, body) => {
    await expectProblem(await sendBody(service(), body), 'invalid-lead');
  });

  it('a form of more than 1,000 fields', async () => {
    const send = (fields: number) =>
      sendBody(service(), Array(fields).fill('firstName=Ada').join('&'), {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      });
    await expectProblem(await send(1000), 'invalid-lead');
    const { detail } = await expectProblem(await send(1001), 'malformed-request');
    expect(detail).toBe('The form has more than 1,000 fields. Send fewer, or send JSON.');
  });

  it('the answer does not quote the body', async () => {
    const { detail } = await expectProblem(
      await sendBody(service(), '{"email":ada@example.com}'),
      'malformed-request',
    );
    expect(detail).not.toContain('ada');
  });

  it.each(['application/json', 'application/x-www-form-urlencoded'])(
    'bytes that are not UTF-8, as %s',
    async (type) => {
      const body = Buffer.from('{"firstName":"Zo\xeb"}', 'latin1');
      const answer = await sendBody(service(), body, { headers: { 'content-type': type } });
      const { detail } = await expectProblem(answer, 'malformed-request');
      expect(detail).toBe('The body contains bytes that are not UTF-8. Send it as UTF-8.');
    },
  );

  it.each(['firstName=%ff', 'firstName=100%', 'firstName=%u00e9', '%c3=x'])(
    'a form that is not encoded: %s',
    async (body) => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const { detail } = await expectProblem(
        await sendBody(service(), body, { headers }),
        'malformed-request',
      );
      expect(detail).toMatch(/^The body is not a well-formed form/);
    },
  );

  it.each([
    ['empty', ''],
    ['longer than 255 characters', 'x'.repeat(256)],
    ['not printable ASCII', 'k\u00e9y'],
  ])('an Idempotency-Key that is %s', async (_what, key) => {
    const answer = await sendLeads(service(), { firstName: 'Ada' }, { headers: { 'idempotency-key': key } });
    const { detail } = await expectProblem(answer, 'malformed-request');
    expect(detail).toMatch(/`Idempotency-Key` of 1 to 255 printable/);
    expect(await service().leads('boss')).toEqual([]);
  });

  it.each([
    ['idempotency-key', 'malformed-request'],
    ['content-type', 'unsupported-media-type'],
  ] as const)('a repeated %s is %s', async (name, code) => {
    const authorization = `Bearer ${await tokenWith(service(), 'boss', ['leads:write'])}`;
    const value = name === 'content-type' ? 'application/json' : 'key';
    const headers = { authorization, 'content-type': 'application/json', [name]: [value, value] };
    const request = httpRequest(`${service().url}/leads`, { method: 'POST', headers });
    request.end('{"firstName":"Ada"}');
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(PROBLEMS[code].status);
    expect(await json(response)).toMatchObject({ code });
    expect(await service().leads('boss')).toEqual([]);
  });

  it('a request without Host', async () => {
    const lines = ['POST /leads HTTP/1.1', 'Connection: close', 'Content-Length: 2', '', '{}'];
    await expectProblem(await sendRawOnce(service().url, requestText(...lines)), 'malformed-request');
  });
});
