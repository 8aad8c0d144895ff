import { once } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { beforeQuestion } from '../../../testing/harness/before-question.ts';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { leaveRequests, startService, type TestService } from '../../../testing/harness/service.ts';
import type { RefusedRequest } from '../../src/http/exchange.ts';
import { InstanceMemory } from '../../src/status/instance.ts';
import { addClient, readStatus } from './support/status.ts';

const refusalsOf = async (service: TestService) => (await readStatus(service)).refusals;

describe('refusals', () => {
  it('have their code and their consumer with its name, and are forgotten after a day without one', async () => {
    const clock = manualClock();
    const service = await startService({ clock });
    const make = await addClient(service, 'starter', 'token-1', 'make');
    const zapier = await addClient(service, 'boss', 'token-2', 'zapier');
    for (const status of [403, 403, 403]) expect(await make()).toBe(status);
    clock.advance(2 * 3_600_000);
    expect(await make()).toBe(403);
    expect(await zapier('limit=0')).toBe(400);
    expect(await zapier()).toBe(200);
    const lastAt = '2026-03-02T11:30:00.000Z';
    expect(await refusalsOf(service)).toMatchObject([
      {
        ...{ code: 'professional-plan-required', status: 403, count: 4, lastAt },
        consumers: [
          { name: 'make', userId: 'starter', tokenId: 'token-1', sendsLeads: false, count: 4, lastAt },
        ],
      },
      {
        ...{ code: 'invalid-query', status: 400, count: 1, lastAt },
        consumers: [
          { name: 'zapier', userId: 'boss', tokenId: 'token-2', sendsLeads: false, count: 1, lastAt },
        ],
      },
    ]);
    expect((await refusalsOf(service))[0]).toMatchObject({
      message: '4 requests, the last one 0 s ago: make (user starter) 4',
      fix: expect.stringContaining('`leadtap user set starter --plan PROFESSIONAL`'),
    });
    clock.advance(24 * 3_600_000);
    expect(await refusalsOf(service)).toEqual([]);
    await make();
    expect(await refusalsOf(service)).toMatchObject([{ count: 1, consumers: [{ count: 1 }] }]);
  });

  it('without a valid token are counted without a consumer; a revoked token still has its name', async () => {
    const service = await startService();
    const url = `${service.url}/automation/new-leads`;
    await fetch(url);
    for (const _ of [1, 2]) await fetch(url, { headers: { authorization: 'Bearer nonsense' } });
    const old = await addClient(service, 'boss', 'token-1', 'old zap');
    await service.store.revokeToken('token-1');
    for (const _ of [1, 2, 3]) expect(await old()).toBe(401);
    expect(await refusalsOf(service)).toMatchObject([
      { code: 'token-revoked', count: 3, consumers: [{ name: 'old zap', userId: 'boss', count: 3 }] },
      { code: 'token-invalid', count: 2, consumers: [] },
      { code: 'token-missing', count: 1, consumers: [] },
    ]);
    expect((await refusalsOf(service)).map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/^2 requests, the last one .+: not known 2$/),
    );
  });

  it('of every endpoint count', async () => {
    const service = await startService();
    const token = await service.token('boss', { scopes: ['leads:read', 'leads:write'] });
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const post = (path: string) => fetch(`${service.url}${path}`, { method: 'POST', headers, body: '[]' });
    expect((await post('/leads')).status).toBe(422);
    expect((await post('/automation/hooks')).status).toBe(422);
    await leaveRequests(service, 'boss', 0);
    for (const path of ['/automation/leads', '/automation/new-leads'])
      expect((await fetch(`${service.url}${path}`, { headers })).status).toBe(429);
    expect((await refusalsOf(service)).map(({ code, count }) => [code, count])).toEqual([
      ['rate-limit-exceeded', 2],
      ['invalid-hook', 1],
      ['invalid-lead', 1],
    ]);
  });

  it('of a sender whose user was removed are those of a sender', async () => {
    const service = await startService();
    const token = await service.token('boss', { tokenId: 'form', scopes: ['leads:write'] });
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    await service.store.removeUser('boss');
    const { status } = await fetch(`${service.url}/leads`, { method: 'POST', headers, body: '{}' });
    expect(status).toBe(404);
    const { problems } = await readStatus(service);
    expect(problems.map(({ message }) => message)).toContain(
      'Token form (user boss) sends leads, but is refused: the user does not exist (404 user-not-found).',
    );
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
    await service.store.revokeToken('revoked');
    const headers = { authorization: `Bearer ${await service.token('boss', { tokenId: 'revoked' })}` };
    const closing = new AbortController();
    service.service.publicServer.server.once('request', (request) => {
      closed = once(request.socket, 'close');
    });
    let closed: Promise<unknown> = Promise.resolve();
    const stop = beforeQuestion(service.store, 'revalidate', async () => {
      closing.abort();
      await closed;
    });
    const refused = fetch(`${service.url}/automation/new-leads`, { headers, signal: closing.signal });
    await expect(refused).rejects.toThrow();
    await vi.waitFor(async () =>
      expect(await (await fetch(service.metricsUrl)).text()).toContain('leadtap_polls_total{status="499"} 1'),
    );
    stop();
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
    const memory = new InstanceMemory(manualClock());
    for (let n = 0; n < 10_000; n += 1)
      memory.addRefusal(refused({ token: { userId: `user ${n}`, tokenId: `token ${n}` } }));
    for (let n = 0; n < 20; n += 1) memory.addRefusal(refused());
    const [found] = memory.read().refusals;
    expect(found?.count).toBe(10_020);
    expect(found?.consumers).toHaveLength(5);
    expect(found?.consumers[0]).toMatchObject({ userId: 'ada', tokenId: 'token-1', count: 20 });
  });

  it('stores no long ids', () => {
    const memory = new InstanceMemory(manualClock());
    memory.addRefusal(refused({ token: { userId: 'x'.repeat(201) } }));
    memory.addRefusal(refused({ token: { userId: 'ada', tokenId: 'y'.repeat(201) } }));
    expect(memory.read().refusals).toMatchObject([
      { count: 2, consumers: [{ userId: 'ada', tokenId: null, count: 1 }] },
    ]);
  });
});

describe('the last errors', () => {
  it('are the last 20 responses with a 5xx, with the ids under which the log has their causes', async () => {
    const clock = manualClock();
    const lines: string[] = [];
    const service = await startService({ clock, logTo: { write: (line) => lines.push(line) } });
    const { changeTracking } = service.store;
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
  });

  it('are none after a refusal', async () => {
    const service = await startService();
    expect((await service.poll('starter')).status).toBe(403);
    expect((await readStatus(service)).errors).toEqual([]);
  });
});
