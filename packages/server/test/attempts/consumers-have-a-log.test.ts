import { once } from 'node:events';
import { type Attempt, type Consumers, NEW_LEADS_PATH, PROBLEMS, type Problem } from '@leadtap/contract';
import { AttemptLog } from '@leadtap/contract/schemas';
import { Errors } from 'typebox/value';
import { expect, it, vi } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { openSocket, requestText } from '../../../testing/harness/raw-http.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { attempt } from '../../src/attempts/merge-attempts.ts';
import { client, iso } from '../consumers/support/consumers.ts';

const get = async (service: TestService, token: string, path: string) =>
  fetch(`${service.url}/automation/${path}`, { headers: { authorization: `Bearer ${token}` } });

const readJson = async <Body>(response: Response): Promise<Body> => response.json() as Promise<Body>;

async function idOf(service: TestService, token: string, tokenId: string): Promise<string> {
  const { consumers } = await readJson<Consumers>(await get(service, token, 'consumers'));
  return consumers.find((one) => one.tokenId === tokenId)?.id ?? '';
}

/** The log of a token of the boss. */
async function logOf(service: TestService, tokenId: string, query = ''): Promise<Attempt[]> {
  const token = await service.token('boss', { tokenId: 'reader' });
  const response = await get(service, token, `consumers/${await idOf(service, token, tokenId)}/log${query}`);
  expect(response.status).toBe(200);
  expect(response.headers.get('cache-control')).toBe('no-store');
  const body = await readJson<AttemptLog>(response);
  expect([...Errors(AttemptLog, body)]).toEqual([]);
  return body.log;
}

const shortOf = (log: readonly Attempt[]) =>
  log.map(({ kind, times, leads, message }) => [kind, times, leads, message]);

const NO_FACTS = { code: null, reason: null, nextTryAt: null, fields: [], fix: null };

it('leads, refusals and the first success after them are entries, and empty polls a count', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  const [start = 0] = await service.add({});
  const flush = async () => service.service.recorder?.flush();
  const zapier = await client(service, 'boss', 'zapier');
  const firstAt = clock();
  for (let count = 0; count < 3; count += 1) {
    await zapier.poll(`since=${iso(start)}`);
    await flush();
    clock.advance(120_000);
  }
  const [first = 0, second = 0] = await service.add({}, {});
  clock.advance(1000);
  const leadsAt = clock();
  await zapier.poll(`since=${iso(start)}`);
  clock.advance(120_000);
  await flush();
  // The same leads once more are not new.
  await zapier.poll(`since=${iso(start)}`);
  await zapier.poll('since=yesterday');
  clock.advance(1000);
  await zapier.poll('since=yesterday');
  await flush();
  await zapier.poll('since=yesterday');
  clock.advance(1000);
  await zapier.poll(`since=${iso(second)}`);
  await flush();
  clock.advance(120_000);
  await zapier.poll(`since=${iso(second)}`);
  const log = await logOf(service, 'zapier');
  const title = 'the query is not valid';
  expect(shortOf(log)).toEqual([
    ['empty', 1, 0, '1 poll without new leads'],
    ['recovered', 1, 0, 'works again'],
    ['refused', 3, 0, `400 ${title}, 3 times`],
    ['empty', 1, 0, '1 poll without new leads'],
    ['leads', 1, 2, '2 leads'],
    ['empty', 3, 0, '3 polls without new leads'],
  ]);
  expect(log[2]).toMatchObject({
    status: 400,
    code: 'invalid-query',
    fix: PROBLEMS['invalid-query'].integrator,
  });
  expect(log[4]).toMatchObject({
    ...{ at: iso(leadsAt), firstAt: iso(leadsAt), times: 1, status: 200 },
    ...{ since: iso(start), through: iso(second), heldMs: null, durationMs: expect.any(Number), ...NO_FACTS },
  });
  expect(first).toBeLessThan(second);
  expect(log[5]).toMatchObject({ firstAt: iso(firstAt), at: iso(leadsAt - 1) });
  expect(log[0]?.at).toBe(iso(clock()));
});

it('pages follow each other, and together have every entry once', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  const zapier = await client(service, 'boss', 'zapier');
  for (let count = 0; count < 4; count += 1) {
    const since = iso(clock());
    clock.advance(1000);
    await service.add({});
    clock.advance(1000);
    await zapier.poll(`since=${since}`);
    await service.service.recorder?.flush();
    clock.advance(1000);
    await zapier.poll(`since=${iso(clock())}`);
    await service.service.recorder?.flush();
    clock.advance(1000);
  }
  const whole = await logOf(service, 'zapier');
  expect(whole).toHaveLength(8);
  for (const limit of [1, 2, 3, 5]) {
    const pages: Attempt[] = [];
    for (;;) {
      const before = pages.at(-1)?.at;
      const page = await logOf(service, 'zapier', `?limit=${limit}${before ? `&before=${before}` : ''}`);
      expect(page.length).toBeLessThanOrEqual(limit);
      if (page.length === 0) break;
      pages.push(...page);
    }
    expect(pages).toEqual(whole);
  }
});

it('a client without since has an entry for new leads alone', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  const [, second = 0] = await service.add({}, {});
  const zapier = await client(service, 'boss', 'zapier');
  const poll = async () => {
    clock.advance(120_000);
    await zapier.poll();
    await service.service.recorder?.flush();
  };
  await poll();
  await poll();
  const [third = 0] = await service.add({});
  await poll();
  const log = await logOf(service, 'zapier');
  expect(shortOf(log)).toEqual([
    ['leads', 1, 1, '1 lead'],
    ['empty', 1, 0, '1 poll without new leads'],
    ['leads', 1, 2, '2 leads'],
  ]);
  expect(log[0]).toMatchObject({ since: iso(second), through: iso(third) });
});

it('leads of more than a minute are several entries, although they are written together', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  const zapier = await client(service, 'boss', 'zapier');
  let [since = 0] = await service.add({});
  for (const ms of [0, 30_000, 31_000]) {
    clock.advance(ms);
    const [added = 0] = await service.add({});
    await zapier.poll(`since=${iso(since)}`);
    since = added;
  }
  const entries = (await logOf(service, 'zapier')).filter(({ kind }) => kind === 'leads');
  expect(entries.map(({ leads, times }) => [leads, times])).toEqual([
    [1, 1],
    [2, 2],
  ]);
});

it('refusals of a limit are one entry, whatever is between them', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  const zapier = await client(service, 'boss', 'zapier');
  for (let minute = 0; minute < 2; minute += 1) {
    for (let count = 0; count < 103; count += 1) await zapier.poll(`since=${iso(clock())}`);
    clock.advance(60_000);
  }
  expect(shortOf(await logOf(service, 'zapier'))).toEqual([
    ['refused', 6, 0, '429 too many requests, 6 times'],
    ['empty', 100, 0, '100 polls without new leads'],
  ]);
});

it('a revoked and an expired token leave a refusal, and a held poll says how long it was held', async () => {
  const service = await startService({});
  const zapier = await client(service, 'boss', 'zapier');
  const held = zapier.poll(`since=${iso(Date.now())}`, { headers: { prefer: 'wait=50' } });
  const reader = await service.token('boss', { tokenId: 'reader' });
  await vi.waitFor(async () => {
    const { consumers } = await readJson<Consumers>(await get(service, reader, 'consumers'));
    expect(consumers[0]?.message).toBe('at once: holds a poll');
  });
  await service.add({});
  expect((await held).status).toBe(200);
  await service.store.revokeToken('zapier');
  await zapier.poll();
  const [refused, leads] = await logOf(service, 'zapier');
  expect(refused).toMatchObject({ kind: 'refused', status: 401, code: 'token-revoked' });
  expect(leads).toMatchObject({ kind: 'leads', leads: 1, heldMs: expect.any(Number) });
});

it('a page that did not arrive is a failure, and a HEAD is an empty poll', async () => {
  const service = await startService({});
  const filler = { customFields: { more: 'x'.repeat(50_000) } };
  const [start = 0, ...later] = await service.add(
    {},
    ...Array.from({ length: 100 }, () => ({ fields: filler })),
  );
  const zapier = await client(service, 'boss', 'zapier');
  const query = `since=${iso(start)}`;
  const authorization = `Authorization: Bearer ${await service.token('boss', { tokenId: 'zapier' })}`;
  for (let count = 1; count <= 2; count += 1) {
    const socket = await openSocket(service.url);
    socket.write(requestText(`GET ${NEW_LEADS_PATH}?${query} HTTP/1.1`, 'Host: x', authorization));
    await once(socket, 'data');
    socket.resetAndDestroy();
    await vi.waitFor(async () => expect((await logOf(service, 'zapier'))[0]?.times).toBe(count));
  }
  const [failed, ...others] = await logOf(service, 'zapier');
  expect(others).toEqual([]);
  const message = 'the connection was closed before everything had arrived, 2 times';
  expect(failed).toMatchObject({
    kind: 'failed',
    status: 200,
    code: 'client-closed-request',
    leads: 0,
    message,
  });
  expect(failed?.fix).toBe('Raise the timeout of the client, or ask for fewer leads with `limit`.');
  expect(await zapier.position()).toMatchObject({ lastStatus: 200, deliveredThrough: null });
  await zapier.poll(query, { method: 'HEAD' });
  await (await zapier.poll(query)).text();
  const through = later.at(-1) ?? 0;
  expect(await zapier.position()).toMatchObject({ deliveredThrough: through });
  const log = await logOf(service, 'zapier');
  expect(log.map(({ kind, times, leads }) => [kind, times, leads])).toEqual([
    ['leads', 1, 100],
    ['empty', 1, 0],
    ['failed', 2, 0],
  ]);
  expect(log[0]).toMatchObject({ since: iso(start), through: iso(through) });
});

it('leads that were skipped and are fetched afterwards are leads, and the same page once more is not', async () => {
  const service = await startService({});
  const n8n = await client(service, 'boss', 'n8n');
  const [first = 0] = await service.add({});
  await n8n.poll(`since=${iso(first)}`);
  await n8n.position();
  await service.add({}, {}, {});
  await n8n.poll('limit=1');
  expect(await n8n.position()).toMatchObject({ skippedLeads: 2 });
  for (const _ of [1, 2]) {
    await n8n.poll(`since=${iso(first)}`);
    await n8n.position();
  }
  expect(shortOf(await logOf(service, 'n8n')).map(([kind, polls, leads]) => [kind, polls, leads])).toEqual([
    ['empty', 1, 0],
    ['leads', 1, 3],
    ['leads', 1, 1],
    ['empty', 1, 0],
  ]);
});

it('only the newest request to a webhook has the next try, also after the clock was set back', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  await (await client(service, 'boss', 'zapier')).poll();
  const subject = await idOf(service, await service.token('boss', { tokenId: 'reader' }), 'zapier');
  clock.advance(100_000);
  const now = clock();
  const refused = (status: number, at: number, nextTryAt: number) =>
    attempt('refused', at, { status, host: 'hooks.example.com', nextTryAt });
  const attempts = [
    refused(500, now + 7_200_000, now + 7_260_000),
    refused(502, now - 40_000, now + 10_000),
    refused(503, now - 20_000, now + 22_000),
  ];
  await service.store.attempts.record([{ subject, userId: 'boss', attempts }]);
  const triesOf = async (query = '') =>
    (await logOf(service, 'zapier', query))
      .filter(({ kind }) => kind === 'refused')
      .map(({ nextTryAt, message }) => [nextTryAt, message]);
  const older = [null, '502 from hooks.example.com'];
  expect(await triesOf()).toEqual([
    [null, '500 from hooks.example.com'],
    [iso(now + 22_000), '503 from hooks.example.com, next try in 22 s'],
    older,
  ]);
  expect(await triesOf(`?before=${iso(now - 20_000)}`)).toEqual([older]);
  clock.advance(30_000);
  expect((await triesOf())[1]).toEqual([null, '503 from hooks.example.com']);
});

it('the log of another user or of nothing is a 404', async () => {
  const service = await startService({});
  await (await client(service, 'boss', 'zapier')).poll();
  const boss = await service.token('boss', { tokenId: 'reader' });
  const id = await idOf(service, boss, 'zapier');
  const other = await service.token('north-lead', { tokenId: 'other' });
  expect((await get(service, other, `consumers/${id}/log`)).status).toBe(404);
  expect((await get(service, boss, 'consumers/none/log')).status).toBe(404);
  expect((await get(service, boss, `consumers/${id}`)).status).toBe(404);
  const invalid = await get(service, boss, `consumers/${id}/log?before=now&limit=0`);
  expect(invalid.status).toBe(400);
  expect((await readJson<Problem>(invalid)).errors).toHaveLength(2);
});
