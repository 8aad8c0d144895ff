import { Senders } from '@leadtap/contract/schemas';
import type { TokenScope } from 'leadtap';
import { Errors } from 'typebox/value';
import { expect, it, vi } from 'vitest';
import { type SendOptions, sendBody, sendLeads, tokenWith } from '../../../testing/harness/intake.ts';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { issueToken } from '../../src/accounts/own-tokens.ts';
import type { SenderRecorder } from '../../src/intake/sender-recorder.ts';
import { terminal } from '../cli/terminal.ts';
import { iso } from '../consumers/support/consumers.ts';

const LEAD = { firstName: 'Ada', email: 'ada@example.com' };
const DAY_MS = 86_400_000;

/** The senders that a user reads. */
async function sendersOf(service: TestService, userId = 'boss'): Promise<Senders['senders']> {
  const token = await service.token(userId);
  const response = await fetch(`${service.url}/automation/senders`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(response.status).toBe(200);
  expect(response.headers.get('cache-control')).toBe('no-store');
  const body: unknown = await response.json();
  expect([...Errors(Senders, body)]).toEqual([]);
  return (body as Senders).senders;
}

const recorderOf = ({ service: { senders } }: TestService): SenderRecorder => {
  if (!senders) throw new Error('senders are not recorded');
  return senders;
};

const namesOf = (senders: Senders['senders']) => senders.map(({ tokenId }) => tokenId).sort();

it('a request is listed at once: accepted leads, refused requests, and the names of wrong fields', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  const send = (leads: unknown) => sendLeads(service, leads, { tokenId: 'web' });
  expect((await send([LEAD, LEAD])).status).toBe(201);
  const acceptedAt = clock();
  clock.advance(1000);
  const wrong = {
    ...LEAD,
    email: 'not an address',
    telefon: '1',
    'ada@example.com': '',
    'Tel 0612345678': '',
  };
  expect((await send(wrong)).status).toBe(422);
  const refusedAt = clock();
  clock.advance(1000);
  await service.service.refusedLeads.flush();
  const [sender, ...others] = await sendersOf(service);
  expect(others).toEqual([]);
  expect(sender).toMatchObject({
    ...{ name: null, tokenId: 'web', source: null, accepted30d: 2, refused30d: 1 },
    ...{ lastRequestAt: iso(refusedAt), lastAcceptedAt: iso(acceptedAt), level: 'error' },
    lastRefusal: { at: iso(refusedAt), code: 'invalid-lead', fields: ['email', 'telefon', 'other'] },
    id: expect.stringMatching(/^[\w-]{16}$/),
  });
  expect(sender?.message).toMatch(/^1 request was refused 1 s ago, with 422 invalid-lead: email, telefon/);
  expect(sender?.fix).toContain('telefon');
  expect(sender?.fix).toContain('1 request is kept: the operator can accept it.');
  // Its leads are stored, or not needed.
  await service.store.refusedLeads.remove(
    (await service.store.refusedLeads.list({ limit: 9 })).map(({ id }) => id),
  );
  expect((await send(LEAD)).status).toBe(201);
  clock.advance(1000);
  expect(await sendersOf(service)).toMatchObject([
    { id: sender?.id, level: 'good', message: 'last lead 1 s ago', fix: null, accepted30d: 3, refused30d: 1 },
  ]);
});

it('a user sees its own senders, with the access level COMPANY all of the company, and never another company', async () => {
  const service = await startService();
  for (const userId of ['boss', 'seller', 'rival'])
    expect((await sendLeads(service, LEAD, { userId })).status).toBe(201);
  await recorderOf(service).flush();
  expect(namesOf(await sendersOf(service))).toEqual(['token-of-boss', 'token-of-seller']);
  expect(namesOf(await sendersOf(service, 'rival'))).toEqual(['token-of-rival']);
  await service.store.updateUser('seller', { plan: 'PROFESSIONAL' });
  expect(namesOf(await sendersOf(service, 'seller'))).toEqual(['token-of-seller']);
});

it('every way of refusing counts, except for those that a sender repeats', async () => {
  const service = await startService();
  const refusals: readonly (readonly [tokenId: string, status: number, body: string, SendOptions?])[] = [
    ['invalid-lead', 422, '{"nick":"Ada"}'],
    ['malformed-request', 400, '{'],
    ['unsupported-media-type', 415, '<a/>', { headers: { 'content-type': 'text/xml' } }],
    ['payload-too-large', 413, `{"notes":"${'x'.repeat(2 ** 20)}"}`],
    ['insufficient-scope', 403, '{}', { scopes: ['leads:read'] }],
  ];
  for (const [tokenId, status, body, options] of refusals)
    expect((await sendBody(service, body, { ...options, tokenId })).status).toBe(status);
  for (let violated = 0; violated === 0; )
    violated = (await service.limiters.intake.consume('seller')).violated.length;
  expect((await sendLeads(service, LEAD, { userId: 'seller', tokenId: 'rate-limit-exceeded' })).status).toBe(
    429,
  );
  await recorderOf(service).flush();
  await service.service.refusedLeads.flush();
  const found = await sendersOf(service);
  expect(Object.fromEntries(found.map(({ tokenId, lastRefusal }) => [tokenId, lastRefusal?.code]))).toEqual({
    ...Object.fromEntries(refusals.map(([code]) => [code, code])),
    'rate-limit-exceeded': undefined,
  });
  expect(found.map(({ refused30d, level }) => `${refused30d} ${level}`).sort()).toEqual([
    '0 unknown',
    ...refusals.map(() => '1 error'),
  ]);
});

it('a token that was refused with 401 counts if it has expired, or was issued here and revoked', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  const sendWith = async (token: string) =>
    (
      await fetch(`${service.url}/leads`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(LEAD),
      })
    ).status;
  const token = (tokenId: string, expiresInMs = 30 * DAY_MS) =>
    service.token('boss', { tokenId, expiresInMs, scopes: ['leads:write'] });
  const expired = await token('expired', 1000);
  const times = { issuedAt: clock(), expiresAt: clock() + DAY_MS, scopes: ['leads:write'] };
  await service.store.recordTokens([{ id: 'revoked', userId: 'boss', name: 'Old form', ...times }]);
  for (const id of ['revoked', 'made up']) await service.store.revokeToken(id);
  clock.advance(2000);
  for (const one of [expired, await token('revoked'), await token('made up'), `${expired}x`])
    expect(await sendWith(one)).toBe(401);
  const found = await sendersOf(service);
  expect(found.map(({ tokenId, lastRefusal }) => `${tokenId} ${lastRefusal?.code}`).sort()).toEqual([
    'expired token-expired',
    'revoked token-revoked',
  ]);
});

it('a token with a forged signature changes nothing of the sender that it names', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  const times = { issuedAt: clock(), expiresAt: clock() + 30 * DAY_MS };
  await service.store.recordTokens([
    { id: 'web', userId: 'boss', name: 'Form', ...times, scopes: ['leads:write'] },
  ]);
  expect((await sendLeads(service, LEAD, { tokenId: 'web' })).status).toBe(201);
  const before = await sendersOf(service);
  expect(before).toMatchObject([{ name: 'Form', level: 'good' }]);
  const forge = (id: string) =>
    issueToken([{ id, secret: new Uint8Array(32) }], {
      ...{ userId: 'boss', tokenId: 'web', scopes: ['leads:write'] },
      ...{ issuedAt: clock(), expiresAt: clock() + 1000 },
    });
  const [key] = service.service.keys;
  for (const token of [await forge('unknown'), await forge(key.id)]) {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await fetch(`${service.url}/leads`, {
      method: 'POST',
      headers,
      body: JSON.stringify(LEAD),
    });
    await expectProblem(answer, 'token-invalid');
  }
  expect(await sendersOf(service)).toEqual(before);
});

it('a token in the address, where none is accepted, counts if it was issued here and would be accepted there', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  const times = { issuedAt: clock(), expiresAt: clock() + DAY_MS };
  const tokenOf = async (id: string, scopes: readonly TokenScope[], expiresInMs = DAY_MS) => {
    if (id !== 'made up')
      await service.store.recordTokens([{ id, userId: 'boss', name: id, ...times, scopes: [...scopes] }]);
    return service.token('boss', { tokenId: id, expiresInMs, scopes });
  };
  const form = await tokenOf('form', ['leads:write']);
  const tokens = [
    ...[form, await tokenOf('made up', ['leads:write']), await tokenOf('old', ['leads:write'], 1000)],
    ...[await tokenOf('reads', ['leads:read']), await tokenOf('both', ['leads:read', 'leads:write'])],
    ...[`${form}x`, 'x', ''],
  ];
  clock.advance(2000);
  for (const token of tokens) {
    const address = `${service.url}/leads?access_token=${token}`;
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(address, { method: 'POST', headers, body: JSON.stringify(LEAD) });
    const { detail } = await expectProblem(answer, 'token-missing');
    expect(detail).toContain('`LEADTAP_INTAKE=urls`');
  }
  await recorderOf(service).flush();
  const found = await sendersOf(service);
  expect(found.map(({ tokenId, lastRefusal }) => `${tokenId} ${lastRefusal?.code}`).sort()).toEqual([
    'form token-missing',
    'old token-missing',
  ]);
  const [sender] = found;
  expect(sender).toMatchObject({ accepted30d: 0, refused30d: 1, level: 'error' });
  expect(sender?.fix).toMatch(/^Its token is in the address, or in the header `Authorization` without/);
  expect(await service.store.refusedLeads.list({ limit: 9 })).toEqual([]);
  expect(await service.leads('boss')).toEqual([]);
});

it('a token in the address that may also read leads is refused there, and its sender says why', async () => {
  const service = await startService({ env: { LEADTAP_INTAKE: 'urls' } });
  const times = { issuedAt: Date.now() - 1000, expiresAt: Date.now() + DAY_MS };
  const scopes = ['leads:read', 'leads:write'] as const;
  await service.store.recordTokens([
    { id: 'both', userId: 'boss', name: 'both', ...times, scopes: [...scopes] },
  ]);
  const token = await service.token('boss', { tokenId: 'both', scopes: [...scopes] });
  const headers = { 'content-type': 'application/json' };
  for (const text of [token, `${token}x`]) {
    const init = { method: 'POST', headers, body: JSON.stringify(LEAD) };
    await expectProblem(await fetch(`${service.url}/leads?access_token=${text}`, init), 'token-invalid');
  }
  await vi.waitFor(async () => {
    await recorderOf(service).flush();
    const [sender] = await sendersOf(service);
    expect(sender).toMatchObject({ tokenId: 'both', refused30d: 1, level: 'error' });
    expect(sender?.fix).toContain('the token is in the address and may also read leads');
  });
});

/** A name, and whether it is shown. */
const NAMES: readonly (readonly [name: string, isShown: boolean])[] = [
  ['telefon', true],
  ['Téléphone', true],
  ['utm_source-2.b', true],
  ['phone1_33612345888_MarieCurie', false],
  ['GB29NWBK60161331926819', false],
  ['06.12.34.56.78', false],
  ['patient HIV positive Marie Curie', false],
  ['marie@example.com', false],
  [`a${'b'.repeat(40)}`, false],
];

it('names that may be values are shown nowhere: log, senders, status, list of refused requests', async () => {
  const lines: string[] = [];
  const service = await startService({ logTo: { write: (line) => void lines.push(line) } });
  const shown = NAMES.flatMap(([name, isShown]) => (isShown ? [name] : []));
  const lead = Object.fromEntries(NAMES.map(([name]) => [name, 'x']));
  const customFields = { shoe_size: {}, 'Marie Curie': {} };
  expect((await sendLeads(service, { ...lead, customFields }, { tokenId: 'web' })).status).toBe(422);
  await recorderOf(service).flush();
  await service.service.refusedLeads.flush();
  const run = (command: string) => terminal().run(command, { env: service.database.env });
  const outputs = {
    api: JSON.stringify(await sendersOf(service)),
    senders: (await run('senders --json')).stdout,
    doctor: (await run('doctor --json')).stdout,
    list: (await run('leads refused list')).stdout,
    listJson: (await run('leads refused list --json')).stdout,
    log: await vi.waitFor(() => {
      const line = lines.find((text) => text.includes('"msg":"request"') && text.includes('/leads'));
      if (line === undefined) throw new Error('not written yet');
      return line;
    }),
  };
  for (const [output, text] of Object.entries(outputs)) {
    for (const name of ['telefon', 'other']) expect(text, output).toContain(name);
    expect(text, output).not.toMatch(/Marie|positive|GB29|06\.12|bbbb|3361/);
  }
  for (const output of ['api', 'senders', 'list', 'listJson', 'log'] as const)
    for (const name of shown) expect(outputs[output], output).toContain(name);
});

it('what was recorded is written when the service stops, and a database that fails does not fail a request', async () => {
  const service = await startService();
  const { senders } = service.store;
  const record = senders.record.bind(senders);
  Object.assign(senders, { record: () => Promise.reject(new Error('the disk is full')) });
  expect((await sendLeads(service, LEAD)).status).toBe(201);
  await recorderOf(service).flush();
  expect((await sendLeads(service, LEAD)).status).toBe(201);
  Object.assign(senders, { record });
  await service.stop();
  const store = await service.database.openStore();
  const found = await store.senders.list({ limit: 10, now: Date.now() });
  await store.close();
  expect(found.map(({ days }) => days.map(([, accepted]) => accepted))).toEqual([[2]]);
});

it('a list uses one unit of the rate limit of polls, and is 404 while the intake is off', async () => {
  const service = await startService();
  const list = async (url: string, token: string) =>
    fetch(`${url}/automation/senders`, { headers: { authorization: `Bearer ${token}` } });
  const token = await service.token('boss');
  const remaining = async () =>
    Number(/"hour";r=(\d+)/.exec((await list(service.url, token)).headers.get('ratelimit') ?? '')?.[1]);
  expect([await remaining(), await remaining()]).toEqual([999, 998]);
  expect((await list(service.url, await tokenWith(service, 'boss', ['leads:write']))).status).toBe(403);
  const off = await startService({ env: { LEADTAP_INTAKE: 'off' } });
  const response = await list(off.url, await off.token('boss'));
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ detail: expect.stringContaining('LEADTAP_INTAKE=off') });
});
