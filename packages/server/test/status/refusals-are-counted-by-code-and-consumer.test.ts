import { describe, expect, it, vi } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { leaveRequests, startService, type TestService } from '../../../testing/harness/service.ts';
import type { RefusedRequest } from '../../src/http/exchange.ts';
import { Refusals } from '../../src/status/refusals.ts';
import { addClient, readPage, readStatus } from './support/status.ts';

const NONE = { lastHour: 0, last24Hours: 0 };
const counts = (lastHour: number, last24Hours = lastHour) => ({ lastHour, last24Hours });

const refusalsOf = async (service: TestService) => (await readStatus(service)).refusals;

const sum = (values: readonly (number | null)[]): number =>
  values.reduce<number>((total, value) => total + (value ?? 0), 0);

describe('refusals', () => {
  it('have their code, their consumer with its name, and the last hour apart from the last day', async () => {
    const clock = manualClock();
    const service = await startService({ clock });
    const make = await addClient(service, 'starter', 'token-1', 'make');
    const zapier = await addClient(service, 'boss', 'token-2', 'zapier');
    for (const status of [403, 403, 403]) expect(await make()).toBe(status);
    clock.advance(2 * 3_600_000);
    expect(await make()).toBe(403);
    expect(await zapier('limit=0')).toBe(400);
    expect(await zapier()).toBe(200);
    expect(await refusalsOf(service)).toEqual([
      {
        ...{ code: 'professional-plan-required', status: 403, ...counts(1, 4), others: NONE },
        consumers: [{ name: 'make', userId: 'starter', tokenId: 'token-1', ...counts(1, 4) }],
      },
      {
        ...{ code: 'invalid-query', status: 400, ...counts(1), others: NONE },
        consumers: [{ name: 'zapier', userId: 'boss', tokenId: 'token-2', ...counts(1) }],
      },
    ]);
    const page = await readPage(service);
    expect(page).toContain('professional-plan-required</th>');
    expect(page).toMatch(/<bdi title="make">make<\/bdi> \(<bdi title="starter">starter<\/bdi>\): 4<\/li>/);
    expect(page).toContain('<code>leadtap user set starter --plan PROFESSIONAL</code>');
    clock.advance(24 * 3_600_000);
    expect(await refusalsOf(service)).toEqual([]);
    expect(await readPage(service)).not.toContain('id="refusals"');
  });

  it('without a valid token are counted without a consumer; a revoked token still has its name', async () => {
    const service = await startService();
    const url = `${service.url}/automation/new-leads`;
    await fetch(url);
    for (const _ of [1, 2]) await fetch(url, { headers: { authorization: 'Bearer nonsense' } });
    const old = await addClient(service, 'boss', 'token-1', 'old zap');
    await service.store.revokeToken('token-1');
    for (const _ of [1, 2, 3]) expect(await old()).toBe(401);
    expect(await refusalsOf(service)).toEqual([
      {
        ...{ code: 'token-revoked', status: 401, ...counts(3), others: NONE },
        consumers: [{ name: 'old zap', userId: 'boss', tokenId: 'token-1', ...counts(3) }],
      },
      { code: 'token-invalid', status: 401, ...counts(2), consumers: [], others: counts(2) },
      { code: 'token-missing', status: 401, ...counts(1), consumers: [], others: counts(1) },
    ]);
  });

  it('of every endpoint count, also in the history', async () => {
    const service = await startService({ env: { LEADTAP_INTAKE: 'on' } });
    const token = await service.token('boss', { scopes: ['leads:read', 'leads:write'] });
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const post = (path: string) => fetch(`${service.url}${path}`, { method: 'POST', headers, body: '[]' });
    expect((await post('/leads')).status).toBe(422);
    expect((await post('/automation/hooks')).status).toBe(422);
    await leaveRequests(service, 'boss', 0);
    for (const path of ['/automation/consumers', '/automation/new-leads'])
      expect((await fetch(`${service.url}${path}`, { headers })).status).toBe(429);
    const { refusals, history } = await readStatus(service);
    expect(refusals.map(({ code, last24Hours }) => [code, last24Hours])).toEqual([
      ['rate-limit-exceeded', 2],
      ['invalid-lead', 1],
      ['invalid-hook', 1],
    ]);
    expect(sum(history.hour.rateLimited)).toBe(2);
    expect(sum(history.hour.rejected)).toBe(2);
  });

  it('of requests that a person tries in the console do not count', async () => {
    const service = await startService();
    const headers = { authorization: 'Bearer nonsense', 'leadtap-client': 'console' };
    expect((await fetch(`${service.url}/automation/new-leads`, { headers })).status).toBe(401);
    const asksForHooks = { method: 'HEAD', headers };
    expect((await fetch(`${service.url}/automation/hooks`, asksForHooks)).status).toBe(405);
    expect(await refusalsOf(service)).toEqual([]);
  });

  it('are those of responses: a client that disconnects before is not refused', async () => {
    const service = await startService();
    const held = new AbortController();
    const answer = service.poll('boss', 'since=2026-03-02', {
      headers: { prefer: 'wait=50' },
      signal: held.signal,
    });
    await vi.waitFor(async () => expect((await readStatus(service)).waitingRequests).toBe(1));
    held.abort();
    await expect(answer).rejects.toThrow();
    await vi.waitFor(async () => expect((await readStatus(service)).waitingRequests).toBe(0));
    expect(await refusalsOf(service)).toEqual([]);
  });
});

describe('a client that makes up consumers', () => {
  const refused = (rest: Partial<RefusedRequest> = {}): RefusedRequest => ({
    ...{ code: 'user-not-found', status: 404, requestId: 'r', path: '/automation/new-leads' },
    token: { userId: 'ada', tokenId: 'token-1' },
    ...rest,
  });

  it('does not fill the memory, and the sums stay right', () => {
    const refusals = new Refusals(manualClock());
    for (let n = 0; n < 10_000; n += 1)
      refusals.add(refused({ token: { userId: `user ${n}`, tokenId: `token ${n}` } }));
    for (let n = 0; n < 20; n += 1) refusals.add(refused());
    const [found] = refusals.read();
    expect(found).toMatchObject({ ...counts(10_020), others: counts(9996) });
    expect(found?.consumers).toHaveLength(5);
    expect(found?.consumers[0]).toEqual({ userId: 'ada', tokenId: 'token-1', ...counts(20) });
  });

  it('stores no long ids', () => {
    const refusals = new Refusals(manualClock());
    refusals.add(refused({ token: { userId: 'x'.repeat(201) } }));
    refusals.add(refused({ token: { userId: 'ada', tokenId: 'y'.repeat(201) } }));
    expect(refusals.read()).toMatchObject([
      { ...counts(2), others: counts(1), consumers: [{ userId: 'ada', tokenId: null, ...counts(1) }] },
    ]);
  });
});

describe('the last errors', () => {
  it('are the last 20 responses with a 5xx, with the ids under which the log has their causes', async () => {
    const clock = manualClock();
    const lines: string[] = [];
    const service = await startService({ clock, logTo: { write: (line) => lines.push(line) } });
    const { changeTracking } = service.store;
    if (!changeTracking) throw new Error('no change tracking');
    vi.spyOn(changeTracking, 'revalidate').mockRejectedValue(new Error('the disk is on fire'));
    const ids: (string | null)[] = [];
    for (let n = 0; n < 22; n += 1) {
      const response = await service.poll('boss');
      expect(response.status).toBe(500);
      ids.unshift(response.headers.get('x-request-id'));
      clock.advance(1000);
    }
    const { errors } = await readStatus(service);
    expect(errors.map(({ requestId }) => requestId)).toEqual(ids.slice(0, 20));
    expect(errors[0]).toEqual({
      ...{ at: '2026-03-02T09:30:21.000Z', status: 500, code: 'internal-error', requestId: ids[0] },
      path: '/automation/new-leads',
    });
    const logged = lines.filter((line) => line.includes(ids[0] ?? '') && line.includes('on fire'));
    expect(logged).toHaveLength(1);
    const page = await readPage(service);
    for (const id of ids.slice(0, 20)) expect(page).toContain(id);
    expect(page).toContain('<summary>15 older</summary>');
    expect(page.indexOf('id="errors"')).toBeGreaterThan(page.indexOf('id="consumers"'));
  });

  it('are none after a refusal', async () => {
    const service = await startService();
    expect((await service.poll('starter')).status).toBe(403);
    expect((await readStatus(service)).errors).toEqual([]);
    expect(await readPage(service)).not.toContain('id="errors"');
  });
});
