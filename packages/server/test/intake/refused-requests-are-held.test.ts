import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { LEADS_PATH, type Problem } from '@leadtap/contract';
import { issueToken, type TokenScope } from 'leadtap';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sendBody, sendLeads } from '../../../testing/harness/intake.ts';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { issuedToken } from '../../../testing/harness/organisation.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';
import { makeKey, sign, startIdentityProvider } from '../tokens/support/identity-provider.ts';

const DAY_MS = 86_400_000;

interface Token {
  readonly userId?: string;
  readonly tokenId?: string;
  readonly scopes?: readonly TokenScope[];
  /** How long ago the token has ended. Default: it has not. */
  readonly endedMs?: number;
  readonly source?: { readonly name: string; readonly map: Readonly<Record<string, string>> };
  readonly timeZone?: string;
}

const issue = (
  { service: { keys } }: TestService,
  { userId = 'boss', tokenId = randomUUID(), scopes = ['leads:write'], endedMs = -DAY_MS, ...rest }: Token,
): Promise<string> =>
  issueToken(keys, {
    ...{ userId, tokenId, scopes, issuedAt: Date.now() - 60 * DAY_MS, expiresAt: Date.now() - endedMs },
    ...rest,
  });

async function post(
  { url }: TestService,
  token: string,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
) {
  const answer = await fetch(`${url}${LEADS_PATH}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  });
  const { code, detail, held } = (await answer.json()) as Partial<Problem>;
  expect(detail?.includes('is held for 30 days')).toBe(held === true);
  return { status: answer.status, code, held };
}

/** What is held of a token, or of all: rows are there when the request is answered. */
async function heldOf({ store }: TestService, tokenId?: string) {
  const all = await store.refusedLeads.list({ limit: 5000 });
  return all.filter((row) => tokenId === undefined || row.tokenId === tokenId);
}

/** After the rows of requests that were accepted are deleted. */
async function leftOf(test: TestService) {
  await test.service.refusedLeads.flush();
  return heldOf(test);
}

const INVALID = '{"firstName":"Ada","mail":"ada@example.com"}';
const CORRECTED = '{"firstName":"Ada","email":"ada@example.com"}';
const VALID = '{"firstName":"Ada"}';
const bodyOf = (bytes: number): string => `{"mail":"${'x'.repeat(bytes - 11)}"}`;

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

/** Bodies that are refused with every token, whatever the operator does. */
const NEVER_ACCEPTED: readonly (readonly [string, string | Buffer, Readonly<Record<string, string>>])[] = [
  ['no body', '', {}],
  ['an empty form', '', FORM],
  ['JSON that is cut off', '{"firstName":"Ada"', {}],
  ['bytes that are no UTF-8', Buffer.from('{"firstName":"Zo\xeb"}', 'latin1'), {}],
  ['bytes of a form that are no UTF-8', Buffer.from('firstName=Zo\xeb', 'latin1'), FORM],
  ['a form that is not well-formed', 'firstName=%', FORM],
  ['JSON as a form', VALID, FORM],
  ['no multipart form', 'x', { 'content-type': 'multipart/form-data; boundary=xyz' }],
];

/** Token, body, headers, status, code, and `held` in the answer. */
type Request = readonly [
  name: string,
  token: Token,
  body: string | Buffer,
  headers: Readonly<Record<string, string>>,
  outcome: string,
  held: boolean | undefined,
];

const REQUESTS: readonly Request[] = [
  ['an unknown field', {}, INVALID, {}, '422 invalid-lead', true],
  [
    'a place outside of the access level',
    { userId: 'seller' },
    '{"firstName":"A","branchId":"south"}',
    {},
    '422 invalid-lead',
    true,
  ],
  ['a body of 64 KiB', {}, bodyOf(65_536), {}, '422 invalid-lead', true],
  ['a larger body', {}, bodyOf(65_537), {}, '422 invalid-lead', false],
  [
    'a webhook of another service',
    { source: { name: 'tally', map: {} } },
    VALID,
    {},
    '422 invalid-lead',
    true,
  ],
  ['an expired token', { endedMs: 1000 }, VALID, {}, '401 token-expired', true],
  ['a token that has ended 29 days ago', { endedMs: 29 * DAY_MS }, VALID, {}, '401 token-expired', true],
  ['a token that has ended 31 days ago', { endedMs: 31 * DAY_MS }, VALID, {}, '401 token-expired', false],
  ['a large body with an expired token', { endedMs: 1000 }, bodyOf(65_537), {}, '401 token-expired', false],
  [
    'an expired token of a user who does not exist',
    { endedMs: 1000, userId: 'stranger' },
    VALID,
    {},
    '401 token-expired',
    false,
  ],
  [
    'an expired token with a form that contains NUL',
    { endedMs: 1000 },
    'a=\0"',
    FORM,
    '401 token-expired',
    true,
  ],
  ...[{ endedMs: 1000 }, { scopes: ['leads:read' as const] }].flatMap((token) =>
    NEVER_ACCEPTED.map(([name, body, headers]): Request => {
      const outcome = token.scopes ? '403 insufficient-scope' : '401 token-expired';
      return [`${name}: ${outcome}`, token, body, headers, outcome, false];
    }),
  ),
  [
    'an expired token with another media type',
    { endedMs: 1000 },
    VALID,
    { 'content-type': 'text/plain' },
    '401 token-expired',
    false,
  ],
  ['a token that may not send leads', { scopes: ['leads:read'] }, VALID, {}, '403 insufficient-scope', true],
  [
    'the same for a user who does not exist',
    { scopes: ['leads:read'], userId: 'stranger' },
    VALID,
    {},
    '404 user-not-found',
    undefined,
  ],
  ['an empty form', {}, '', FORM, '422 invalid-lead', false],
  ['text that is no JSON', {}, '{', {}, '400 malformed-request', undefined],
  [
    'another media type',
    {},
    VALID,
    { 'content-type': 'text/plain' },
    '415 unsupported-media-type',
    undefined,
  ],
  ['a malformed key', {}, INVALID, { 'idempotency-key': 'é' }, '400 malformed-request', undefined],
  ['a person in the console', {}, INVALID, { 'leadtap-client': 'console' }, '422 invalid-lead', false],
];

describe('a refused request', () => {
  const service = shareService();

  it.each(REQUESTS)('%s', async (_name, token, body, headers, outcome, held) => {
    const tokenId = randomUUID();
    const answer = await post(service(), await issue(service(), { tokenId, ...token }), body, headers);
    expect({ ...answer, status: `${answer.status} ${answer.code}` }).toMatchObject({
      status: outcome,
      held,
    });
    const rows = await heldOf(service(), tokenId);
    expect(rows).toHaveLength(held ? 1 : 0);
    const [row] = rows;
    if (!row) return;
    expect(row).toMatchObject({
      companyId: 'acme',
      userId: token.userId ?? 'boss',
      code: answer.code,
      times: 1,
    });
    const found = await service().store.refusedLeads.find(row.id);
    expect(found?.body.toString()).toBe(body);
    expect(found?.mediaType).toBe(headers['content-type'] ?? 'application/json');
  });

  it('has names of fields, and no value in its errors', async () => {
    const tokenId = randomUUID();
    const lead = {
      mail: 'a',
      email: 'secret@',
      branchId: 'secret "x',
      statusValue: 'SECRET',
      customFields: 'secret',
    };
    await post(service(), await issue(service(), { tokenId }), JSON.stringify([lead, { id: 'secret' }]));
    const [row] = await heldOf(service(), tokenId);
    expect(row?.errors.map(({ index, field }) => [index, field])).toEqual(
      expect.arrayContaining([
        [0, 'mail'],
        [0, 'email'],
        [0, 'branchId'],
        [0, 'statusValue'],
      ]),
    );
    expect(JSON.stringify(row)).not.toMatch(/secret/i);
  });

  it('is held with what its token says of the body', async () => {
    const tokenId = randomUUID();
    const source = { name: 'form', map: { Mél: 'email' } };
    const token = { tokenId, source, timeZone: 'Europe/Paris', endedMs: 1000 };
    await service().store.recordTokens([{ ...issuedToken('boss', tokenId), name: 'Web form' }]);
    const body = new FormData();
    body.set('Mél', 'ada@example.com');
    const { url } = service();
    const authorization = `Bearer ${await issue(service(), token)}`;
    await fetch(`${url}${LEADS_PATH}`, { method: 'POST', headers: { authorization }, body });
    expect(await heldOf(service(), tokenId)).toMatchObject([
      {
        ...{ source: 'form', answerMap: source.map, timeZone: 'Europe/Paris', connection: 'Web form' },
        mediaType: expect.stringMatching(/^multipart\/form-data; boundary=/),
      },
    ]);
  });
});

it('a request with an expired token of an identity provider is held, and with a forged or revoked one it is not', async () => {
  const [key, other] = [await makeKey('ES256', 'a'), await makeKey('ES256', 'a')];
  const provider = await startIdentityProvider(key);
  const test = await startService({ env: provider.env });
  const exp = Math.floor(Date.now() / 1000) - 60;
  const claims = { exp, scope: 'leads:write' };
  const answers = [];
  for (const token of [
    await sign(key, { ...claims, jti: 'good' }),
    await sign(key, claims),
    await sign(other, { ...claims, jti: 'forged' }),
    await sign(key, { ...claims, jti: 'foreign', aud: 'another' }),
    await sign(key, { ...claims, jti: 'revoked' }),
  ]) {
    if (answers.length === 4) await test.store.revokeToken('revoked');
    answers.push(await post(test, token, INVALID));
  }
  expect(answers.map(({ code, held }) => [code, held])).toEqual([
    ['token-expired', true],
    ['token-expired', true],
    ['token-invalid', undefined],
    ['token-invalid', undefined],
    ['token-expired', false],
  ]);
  expect((await heldOf(test)).map(({ tokenId }) => tokenId)).toEqual(['good', null]);
});

describe('a request that is sent again', () => {
  const send = (test: TestService, body: string, key?: string, tokenId = 'form', userId = 'boss') =>
    sendBody(test, body, {
      tokenId,
      userId,
      ...(key !== undefined && { headers: { 'idempotency-key': key } }),
    });

  it('counts up, and goes when the same body is accepted, on any instance', async () => {
    const test = await startService();
    const other = await startService({ beside: test });
    const PLACE = '{"firstName":"Ada","branchId":"new"}';
    for (const instance of [test, other, test]) expect((await send(instance, PLACE)).status).toBe(422);
    expect((await send(test, PLACE, undefined, 'second form', 'seller')).status).toBe(422);
    expect((await heldOf(test)).map(({ times }) => times)).toEqual([3, 1]);
    // The operator adds the branch. Another token of the user may send the same body.
    const branches = [{ id: 'new', name: 'New', departments: [] }];
    await test.store.applyOrganisation({ companies: [{ id: 'acme', name: 'Acme', branches, users: [] }] });
    expect((await send(other, PLACE, undefined, 'second form')).status).toBe(201);
    expect((await leftOf(other)).map(({ userId }) => userId)).toEqual(['seller']);
  });

  it('stays if another body is accepted, also with the same key: it may be of another person', async () => {
    const test = await startService();
    expect((await send(test, INVALID, 'form 7')).status).toBe(422);
    expect((await send(test, CORRECTED, 'form 7')).status).toBe(201);
    expect(await leftOf(test)).toHaveLength(1);
  });

  it('stays if its key was used for another body, also when that one is sent again', async () => {
    const test = await startService();
    expect((await send(test, VALID, 'key')).status).toBe(201);
    expect((await send(test, '{"firstName":"Other"}', 'key')).status).toBe(422);
    expect((await send(test, VALID, 'key')).status).toBe(201);
    expect((await leftOf(test)).map(({ code }) => code)).toEqual(['idempotency-key-reused']);
  });

  it('stays if it was refused after it was accepted', async () => {
    const test = await startService();
    const token = await issue(test, { tokenId: 'old', endedMs: 1000 });
    await post(test, token, VALID);
    await sendBody(test, VALID);
    expect(await leftOf(test)).toEqual([]);
    await sendBody(test, VALID);
    await post(test, token, VALID);
    expect(await leftOf(test)).toHaveLength(1);
  });
});

it('LEADTAP_KEEP_REFUSED=off holds none', async () => {
  const test = await startService({ env: { LEADTAP_KEEP_REFUSED: 'off' } });
  expect(await post(test, await issue(test, {}), INVALID)).toMatchObject({ status: 422, held: false });
  expect(await post(test, await issue(test, { endedMs: 1000 }), VALID)).toMatchObject({ held: false });
  expect(await heldOf(test)).toEqual([]);
});

describe('an expired token', () => {
  it('is held 600 times a minute, and uses up nothing of a good one', async () => {
    const clock = manualClock();
    const test = await startService({ clock, env: { LEADTAP_TRUST_PROXY: '1' } });
    const token = await test.token('boss', { tokenId: 'old', scopes: ['leads:write'], expiresInMs: -1000 });
    // From many addresses, because tokens that were refused are limited by address.
    let sent = 0;
    const send = async (mediaType: string): Promise<boolean> => {
      sent += 1;
      const answer = await test.inject({
        ...{ method: 'POST', url: LEADS_PATH, payload: VALID },
        headers: {
          ...{ authorization: `Bearer ${token}`, 'content-type': mediaType },
          'x-forwarded-for': `192.0.2.${sent % 200}`,
        },
      });
      expect(answer.statusCode).toBe(401);
      return answer.json().held;
    };
    // Of a type that is never held, which counts as well, and need not wait for the commit.
    for (let i = 0; i < 599; i += 1) expect(await send('text/plain')).toBe(false);
    expect(await send('application/json')).toBe(true);
    expect(await send('application/json')).toBe(false);
    clock.advance(60_000);
    expect(await send('application/json')).toBe(true);
    expect(await heldOf(test)).toMatchObject([{ times: 2 }]);
    expect((await sendLeads(test, { firstName: 'Ada' })).status).toBe(201);
  });

  it('has 8 unfinished uploads at most, which are not those of a good one', async () => {
    const test = await startService();
    const { hostname, port } = new URL(test.url);
    const open = async (token: string): Promise<string> => {
      const socket = connect(Number(port), hostname);
      onTestFinished(() => void socket.destroy());
      const lines = [
        'POST /leads HTTP/1.1',
        ...['Host: x', 'Content-Type: application/json', 'Content-Length: 19', 'Expect: 100-continue'],
        `Authorization: Bearer ${token}`,
      ];
      socket.write(`${lines.join('\r\n')}\r\n\r\n`);
      return String((await once(socket, 'data'))[0]);
    };
    const expired = await issue(test, { endedMs: 1000 });
    const answers: string[] = [];
    for (let i = 0; i < 9; i += 1) answers.push((await open(expired)).slice(9, 12));
    expect(answers).toEqual([...Array(8).fill('100'), '401']);
    expect((await open(await issue(test, {}))).slice(9, 12)).toBe('100');
  });
});
