import type { ConnectionLog, Connections, LeadConnections } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService } from '../../../testing/harness/service.ts';

const MINUTE_MS = 60_000;

async function startWorld() {
  const clock = manualClock();
  const service = await startService({ clock });
  const headers = { authorization: `Bearer ${await service.token('boss')}` };
  let next = `${service.url}/automation/new-leads`;
  const ask = async <T>(path: string, init: RequestInit = {}): Promise<{ status: number; body: T }> => {
    const response = await fetch(`${service.url}/automation/connections${path}`, { headers, ...init });
    const text = await response.text();
    return { status: response.status, body: (text === '' ? undefined : JSON.parse(text)) as T };
  };
  const poll = async (address = next): Promise<void> => {
    const response = await fetch(address, { headers });
    next = /<(.*)>/.exec(response.headers.get('link') ?? '')?.[1] ?? next;
    await response.arrayBuffer();
    clock.advance(2 * MINUTE_MS);
  };
  const list = async () => (await ask<Connections>('')).body;
  const audit = async () => {
    for (let run = 0; run < 3; run += 1) {
      clock.advance(MINUTE_MS);
      await service.service.connections.audit();
    }
  };
  return { clock, service, headers, ask, poll, list, audit };
}

describe('GET /automation/connections', () => {
  it('says of a new connection that it is new, and of one that works what it was sent', async () => {
    const { service, poll, list } = await startWorld();
    expect(await list()).toMatchObject({ level: 'unknown', leads: 0, in: [], out: [] });
    await poll();
    expect((await list()).out).toMatchObject([{ state: 'new', level: 'unknown', kind: 'poll', sent: 0 }]);
    for (let lead = 0; lead < 3; lead += 1) {
      await service.add({ id: `l${lead}` });
      await poll();
    }
    await poll();
    const listed = await list();
    expect(listed).toMatchObject({
      level: 'good',
      leads: 3,
      out: [{ state: 'working', sent: 3, waiting: 0, missed: 0 }],
    });
    expect(listed.out[0]?.hours).toHaveLength(24);
    expect(listed.message).toMatch(/^3 leads since .*has all/);
  });

  it('names what was missed, until a person marks it as handled', async () => {
    const { service, poll, list, audit, ask } = await startWorld();
    await poll();
    await service.add({ id: 'l0' });
    await poll();
    await service.add({ id: 'l1' });
    await poll();
    await poll();
    await service.add({ id: 'passed' });
    const [stamp = 0] = await service.add({ id: 'l3' });
    await poll(`${service.url}/automation/new-leads?since=${new Date(stamp).toISOString()}`);
    await audit();
    const { level, out } = await list();
    expect(level).toBe('error');
    expect(out).toMatchObject([{ level: 'error', missed: 2, sent: 2, action: 'handled' }]);
    expect((await ask<LeadConnections>('?lead=passed')).body.out).toMatchObject([{ state: 'missed' }]);
    expect((await ask<LeadConnections>('?lead=l0')).body.out).toMatchObject([{ state: 'sent', why: null }]);
    expect((await ask('?lead=unknown')).status).toBe(404);
    const id = out[0]?.id ?? '';
    const { body } = await ask<ConnectionLog>(`/${id}/log`);
    expect(body.log.map(({ kind, leadIds }) => [kind, leadIds])).toContainEqual(['leads', ['l0']]);
    expect((await ask(`/${id}/handled`, { method: 'POST' })).status).toBe(204);
    expect((await list()).out).toMatchObject([{ missed: 0, level: 'good' }]);
    expect((await ask<ConnectionLog>(`/${id}/log`)).body.log[0]).toMatchObject({ kind: 'changed' });
  });

  it('renames a connection, and sends no leads to one that polls', async () => {
    const { poll, list, ask, headers } = await startWorld();
    await poll();
    const id = (await list()).out[0]?.id ?? '';
    const json = { ...headers, 'content-type': 'application/json' };
    const patch = await ask<{ name: string }>(`/${id}`, {
      method: 'PATCH',
      headers: json,
      body: '{"name":"CRM"}',
    });
    expect(patch).toMatchObject({ status: 200, body: { name: 'CRM' } });
    expect((await list()).out).toMatchObject([{ id, name: 'CRM' }]);
    const send = await ask<{ code: string }>(`/${id}/send`, {
      method: 'POST',
      headers: json,
      body: '{"missed":true}',
    });
    expect(send).toMatchObject({ status: 409, body: { code: 'connection-polls' } });
    await poll();
    expect((await list()).out).toHaveLength(1);
  });
});
