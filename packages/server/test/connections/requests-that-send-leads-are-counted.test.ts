import type { Connections } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService } from '../../../testing/harness/service.ts';

async function startWorld() {
  const clock = manualClock();
  const service = await startService({ clock, env: { LEADTAP_INTAKE: 'on' } });
  const writer = await service.token('boss', { tokenId: 'form', scopes: ['leads:write'] });
  const reader = await service.token('boss', { tokenId: 'crm' });
  const send = async (body: unknown, token: string | undefined = writer): Promise<number> => {
    const response = await fetch(`${service.url}/leads`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token !== '' && { authorization: `Bearer ${token}` }),
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    await response.arrayBuffer();
    return response.status;
  };
  const list = async (): Promise<Connections> => {
    await service.service.connections.flush();
    const response = await fetch(`${service.url}/automation/connections`, {
      headers: { authorization: `Bearer ${reader}` },
    });
    return (await response.json()) as Connections;
  };
  return { clock, service, writer, send, list };
}

describe('a connection that sends leads', () => {
  it('has added and updated leads, apart', async () => {
    const { send, list } = await startWorld();
    await send({ id: 'l1', email: 'ada@example.com' });
    await send({ id: 'l1', email: 'ada@example.com', lastName: 'Lovelace' });
    await send([{ firstName: 'Grace' }, { firstName: 'Edsger' }]);
    expect((await list()).in).toMatchObject([{ level: 'good', added: 3, updated: 1, held: 0, lost: 0 }]);
  });

  it('is red with what is held, and with what is lost', async () => {
    const { send, list } = await startWorld();
    expect(await send({ mail: 'ada@example.com' })).toBe(422);
    expect((await list()).in).toMatchObject([{ level: 'error', held: 1, lost: 0, action: 'accept' }]);
    expect(await send('{"firstName":')).toBe(400);
    expect((await list()).in).toMatchObject([{ level: 'error', held: 1, lost: 1 }]);
  });

  it('is not changed by requests with an unknown token, which are a row of their own for a day', async () => {
    const { writer, send, list, clock } = await startWorld();
    await send({ firstName: 'Ada' });
    for (let sent = 0; sent < 5; sent += 1) await send({ firstName: 'Ada' }, writer.slice(0, -10));
    for (let sent = 0; sent < 3; sent += 1) await send({ firstName: 'Ada' }, '');
    // Only an installation of one company shows them to its users.
    const { in: rows } = await list();
    expect(rows).toMatchObject([{ added: 1, lost: 0, level: 'good' }]);
    clock.advance(1);
  });
});
