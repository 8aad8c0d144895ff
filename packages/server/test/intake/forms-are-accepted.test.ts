import { issueToken } from 'leadtap';
import { expect, it } from 'vitest';
import { sendBody, sendForm } from '../../../testing/harness/intake.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService } from '../../../testing/harness/service.ts';

it('a form is one lead, with custom fields by their names', async () => {
  const test = await startService();
  const answer = await sendForm(test, {
    id: 'form-1',
    firstName: 'Zoë & Söhne',
    email: 'zoe@example.com',
    branchId: 'north',
    sameDay: 'on',
    images: 'https://example.com/a.jpg|https://example.com/b.jpg',
    appointmentDateTime: '2026-03-05T14:00:00+01:00',
    'customFields.source': 'web form',
    'customFields.a.b': 'nested name',
    'customFields.__proto__': 'harmless',
  });
  expect(answer.status).toBe(201);
  expect((await test.leads('boss'))[0]).toMatchObject({
    id: 'form-1',
    firstName: 'Zoë & Söhne',
    email: 'zoe@example.com',
    branchName: 'North',
    sameDay: true,
    images: ['https://example.com/a.jpg', 'https://example.com/b.jpg'],
    appointmentDateTime: '2026-03-05T13:00:00.000Z',
    customFields: JSON.parse('{"source":"web form","a.b":"nested name","__proto__":"harmless"}'),
  });
});

it('a time without an offset is in LEADTAP_TIME_ZONE, unless the token has a time zone', async () => {
  const test = await startService({ env: { LEADTAP_TIME_ZONE: 'Europe/Paris' } });
  const send = async (appointmentDateTime: string, timeZone?: string, source?: string) => {
    const token = await issueToken(test.service.keys, {
      ...{ userId: 'boss', tokenId: 'a', issuedAt: Date.now() - 1000, expiresAt: Date.now() + 3_600_000 },
      scopes: ['leads:write'],
      ...(timeZone !== undefined && { timeZone }),
      ...(source !== undefined && { source: { name: source, map: {} } }),
    });
    const headers = { authorization: `Bearer ${token}` };
    const name = source === undefined ? 'appointmentDateTime' : 'Appointment';
    await sendForm(
      test,
      { [source === undefined ? 'firstName' : 'Name']: 'Ada', [name]: appointmentDateTime },
      { headers },
    );
    return (await test.leads('boss'))[0]?.appointmentDateTime;
  };
  expect(await send('2026-12-01T09:00')).toBe('2026-12-01T08:00:00.000Z');
  expect(await send('2026-07-01T09:00')).toBe('2026-07-01T07:00:00.000Z');
  expect(await send('2026-12-01T09:00Z')).toBe('2026-12-01T09:00:00.000Z');
  // The hour that is missing when clocks are set forward: as in an import, it is moved forward.
  expect(await send('2026-03-29T02:30')).toBe('2026-03-29T01:30:00.000Z');
  expect(await send('2026-12-01T09:00', 'America/New_York')).toBe('2026-12-01T14:00:00.000Z');
  expect(await send('2026-12-01 09:00', undefined, 'form')).toBe('2026-12-01T08:00:00.000Z');
  expect(await send('2026-12-01 09:00', 'America/New_York', 'form')).toBe('2026-12-01T14:00:00.000Z');
});

it('empty fields count as absent, also in an update', async () => {
  const test = await startService();
  const empty = 'companyId=&branchId=&departmentId=&email=&sameDay=&images=&customFields.source=&lastName';
  const first = await sendForm(test, `id=a&firstName=Ada&${empty}`, { userId: 'seller' });
  expect(first.status).toBe(201);
  expect((await sendForm(test, `id=a&firstName=&phone1=1&${empty}`, { userId: 'seller' })).status).toBe(200);
  expect((await test.leads('seller'))[0]).toMatchObject({ firstName: 'Ada', phone1: '1', customFields: {} });
});

it('plus signs and percent-encoding are decoded', async () => {
  const test = await startService();
  await sendForm(test, { fullName: 'Ada Lovelace', phone1: '+44 1', address: 'a=b&c%20d' });
  expect((await test.leads('boss'))[0]).toMatchObject({
    fullName: 'Ada Lovelace',
    phone1: '+44 1',
    address: 'a=b&c%20d',
  });
});

const BOUNDARY = '----WebKitFormBoundary7MA4YWxkTrZu0gW';
const MULTIPART = { headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` } };
const part = (name: string, value: string) =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const END = `--${BOUNDARY}--\r\n`;

it('a multipart form is one lead, without its files', async () => {
  const test = await startService();
  const form = new FormData();
  form.set('fullName', 'Zoë & Söhne');
  form.set('phone1', '+44 1');
  form.set('email', '');
  form.set('customFields.message', 'two\r\nlines');
  form.set('photo', new File(['\xff'], 'roof.jpg', { type: 'image/jpeg' }));
  const encoded = new Response(form);
  const type = encoded.headers.get('content-type') ?? '';
  const answer = await sendBody(test, await encoded.arrayBuffer(), { headers: { 'content-type': type } });
  expect(answer.status).toBe(201);
  const customFields = { message: 'two\r\nlines' };
  expect((await test.leads('boss'))[0]).toMatchObject({
    fullName: 'Zoë & Söhne',
    phone1: '+44 1',
    customFields,
  });
});

it.each([
  ['is not closed', part('firstName', 'Ada'), /well-formed multipart form/],
  ['has another boundary', '--x\r\n\r\n--x--', /well-formed multipart form/],
  ['is JSON', '{"firstName":"Ada"}', /well-formed multipart form/],
  ['has too many parts', part('a', '').repeat(1001) + END, /more than 1,000 fields/],
  ['has long heads', part(`a${'%22'.repeat(50_000)}`, '') + END, /names of the fields/],
])('400 for a multipart form that %s', async (_what, body, expected) => {
  const test = await startService();
  const { detail } = await expectProblem(await sendBody(test, body, MULTIPART), 'malformed-request');
  expect(detail).toMatch(expected);
});

it('400 for a form with a name of more than 10,000 characters', async () => {
  const test = await startService();
  const answer = await sendForm(test, `${'a'.repeat(10_001)}=1`);
  const { detail } = await expectProblem(answer, 'malformed-request');
  expect(detail).toMatch(/names of the fields/);
});
