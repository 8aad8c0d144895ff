import { once } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { beforeQuestion } from '../../../testing/harness/before-question.ts';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { leaveRequests, startService, type TestService } from '../../../testing/harness/service.ts';
import { readStatus } from './support/status.ts';

const refusalsOf = async (service: TestService) => (await readStatus(service)).refusals;

describe('refusals', () => {
  it('have their code and what to do, and are forgotten after a day without one', async () => {
    const clock = manualClock();
    const service = await startService({ clock });
    for (let times = 0; times < 3; times += 1) expect((await service.poll('starter')).status).toBe(403);
    clock.advance(2 * 3_600_000);
    expect((await service.poll('starter')).status).toBe(403);
    expect((await service.poll('boss', 'limit=0')).status).toBe(400);
    expect((await service.poll('boss')).status).toBe(200);
    const lastAt = '2026-03-02T11:30:00.000Z';
    expect(await refusalsOf(service)).toEqual([
      {
        ...{ code: 'professional-plan-required', status: 403, count: 4, lastAt },
        message: '4 requests, the last one 0 s ago',
        fix: expect.stringContaining('`leadtap user set ID --plan PROFESSIONAL`'),
      },
      {
        ...{ code: 'invalid-query', status: 400, count: 1, lastAt },
        message: '1 request, the last one 0 s ago',
        fix: expect.stringMatching(/^Tell the client: /),
      },
    ]);
    clock.advance(24 * 3_600_000);
    expect(await refusalsOf(service)).toEqual([]);
    await service.poll('starter');
    expect(await refusalsOf(service)).toMatchObject([{ count: 1 }]);
  });

  it('of every endpoint count', async () => {
    const service = await startService();
    const token = await service.token('boss', { scopes: ['leads:read', 'leads:write'] });
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const post = (path: string) => fetch(`${service.url}${path}`, { method: 'POST', headers, body: '[]' });
    expect((await post('/leads')).status).toBe(422);
    expect((await post('/automation/hooks')).status).toBe(422);
    await leaveRequests(service, 'boss', 0);
    for (const path of ['/automation/connections', '/automation/new-leads'])
      expect((await fetch(`${service.url}${path}`, { headers })).status).toBe(429);
    expect((await refusalsOf(service)).map(({ code, count }) => [code, count])).toEqual([
      ['rate-limit-exceeded', 2],
      ['invalid-hook', 1],
      ['invalid-lead', 1],
    ]);
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
