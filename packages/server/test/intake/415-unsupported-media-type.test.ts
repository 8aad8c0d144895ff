import { expect, it } from 'vitest';
import { sendBody } from '../../../testing/harness/intake.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';

const service = shareService();

it.each([
  [{ 'content-type': '' }],
  [{ 'content-type': 'text/plain' }],
  [{ 'content-type': 'application/ndjson' }],
  [{ 'content-type': 'multipart/mixed; boundary=x' }],
  [{ 'content-type': 'application/json; charset=iso-8859-1' }],
  [{ 'content-type': 'application/json; charset="utf-16"' }],
  [{ 'content-type': 'application/json; charset=utf-8; charset=iso-8859-1' }],
  [{ 'content-type': `application/json;charset=${' '.repeat(14_500)}x y` }],
  [{ 'content-type': 'application/json; charset="utf-8' }],
  [{ 'content-type': 'toString' }],
  [{ 'content-encoding': 'gzip' }],
])('415 for %o', async (headers) => {
  const answer = await sendBody(service(), '{"firstName":"Ada"}', { headers });
  expect(answer.headers.get('ratelimit')).toMatch(/^"intake";/);
  const { detail } = await expectProblem(answer, 'unsupported-media-type');
  expect(detail).toMatch(/application\/json/);
  expect(await service().leads('boss')).toEqual([]);
});

it.each(['{"firstName":"Ada"}', ' \n[{}]'])('415 for JSON that is sent as a form: %j', async (body) => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const answer = await sendBody(service(), body, { headers });
  const { detail } = await expectProblem(answer, 'unsupported-media-type');
  expect(detail).toBe('This looks like JSON: send `Content-Type: application/json`.');
  expect(await service().leads('boss')).toEqual([]);
});

it.each([
  'application/json;charset=UTF-8',
  'application/json; charset="utf-8"',
  ' Application/JSON ; q="; charset=latin1" ; CHARSET=utf8',
])('%s is accepted', async (type) => {
  const headers = { 'content-type': type };
  expect((await sendBody(service(), '{"firstName":"Ada"}', { headers, userId: 'rival' })).status).toBe(201);
});

it('an explicit identity encoding is accepted', async () => {
  const headers = { 'content-encoding': 'identity' };
  expect((await sendBody(service(), '{"phone1":"1"}', { headers, userId: 'rival' })).status).toBe(201);
});
