import type { Consumers } from '@leadtap/contract';
import { describe, expect, test, vi } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService } from '../../../testing/harness/service.ts';
import { client, iso } from '../consumers/support/consumers.ts';
import { readStatus } from '../status/support/status.ts';
import { type RunOptions, terminal } from './terminal.ts';

async function installation() {
  const clock = manualClock();
  const service = await startService({ clock });
  const shell = terminal();
  const run = async (command: string, options: RunOptions = {}) => {
    await service.service.recorder?.flush();
    const env = { ...service.database.env, ...options.env };
    return shell.run(command, { ...options, env, parts: { clock } });
  };
  const consumersOf = async (leadId: string) =>
    JSON.parse((await run(`leads show ${leadId} --json`)).stdout).consumers;
  return { clock, service, run, consumersOf };
}

describe('leadtap leads show', () => {
  test('says for each consumer whether it has confirmed the lead, got it, waits for it, or asked past it', async () => {
    const { clock, service, run, consumersOf } = await installation();
    const { poll: skipping } = await client(service, 'boss', 'd-skips');
    const { poll: confirming } = await client(service, 'boss', 'a-confirms');
    const { poll: reading } = await client(service, 'boss', 'b-reads');
    const { poll: waiting } = await client(service, 'boss', 'c-waits');
    const issuedAt = Date.UTC(2026, 2, 2);
    await service.store.recordTokens([
      { id: 'a-confirms', userId: 'boss', name: 'n8n', issuedAt, expiresAt: issuedAt + 1e10, scopes: [] },
    ]);
    await waiting();
    const [added = 0] = await service.add({ id: '4711' });
    clock.advance(1000);
    await confirming(`since=${iso(added - 1)}`);
    await confirming(`since=${iso(added)}`);
    await skipping(`since=${iso(clock())}`);
    await reading(`since=${iso(added - 1)}`);
    const state = (tokenId: string, name: string | null, expected: string) => ({
      tokenId,
      name,
      userId: 'boss',
      state: expected,
    });
    expect(await consumersOf('4711')).toEqual([
      state('a-confirms', 'n8n', 'confirmed'),
      state('b-reads', null, 'delivered'),
      state('c-waits', null, 'waiting'),
      state('d-skips', null, 'skipped'),
    ]);
    const { code, stdout } = await run('leads show 4711');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Consumers {2,}n8n \(user boss\): confirmed; last poll \d s ago, status 200$/m);
    expect(stdout).toMatch(/^ +token b-reads \(user boss\): delivered; last poll/m);
    expect(stdout).toMatch(
      new RegExp(`^ +token c-waits \\(user boss\\): waiting since ${iso(added)}; last poll`, 'm'),
    );
    expect(stdout).toMatch(
      /^ +token d-skips \(user boss\): skipped: it asked for what comes after it; it was never sent to it; last/m,
    );
  });

  test('lists consumers that were removed after they had received the lead, and the endpoint knows of them', async () => {
    const { clock, service, run, consumersOf } = await installation();
    const { poll } = await client(service, 'boss', 'make');
    const { poll: revoked } = await client(service, 'boss', 'zapier');
    const [added = 0] = await service.add({ id: 'had' });
    await poll(`since=${iso(added - 1)}`);
    await revoked(`since=${iso(added - 1)}`);
    await service.add({ id: 'waited' });
    await run('consumers forget make');
    await service.store.revokeToken('zapier');
    clock.advance(2 * 86_400_000);
    const { stdout } = await run('leads show had');
    expect(stdout).toMatch(/^Consumers {2,}zapier \(user boss\): delivered; its token was revoked$/m);
    expect(stdout).toMatch(/^ +make \(user boss\): delivered; it was removed on 20\d\d-\d\d-\d\d$/m);
    const removed = { name: null, userId: 'boss', state: 'delivered' };
    expect(await consumersOf('had')).toEqual([
      { tokenId: 'zapier', ...removed },
      { tokenId: 'make', ...removed },
    ]);
    expect((await run('leads show waited')).stdout).toMatch(/^Consumers {2,}none has it or will get it$/m);
    const headers = { authorization: `Bearer ${await service.token('boss')}` };
    const response = await fetch(`${service.url}/automation/consumers`, { headers });
    const { summary } = (await response.json()) as Consumers;
    expect(summary.message).toBe('Nothing polls at present with your tokens.');
    expect((await readStatus(service)).summary).toMatch(/^1 lead since Monday/);
  });

  test('lists only consumers that may see the lead', async () => {
    const { service, run, consumersOf } = await installation();
    await service.add(
      { id: 'nowhere' },
      { id: 'north', branchId: 'north' },
      { id: 'sales', departmentId: 'sales' },
    );
    expect((await run('leads show sales')).stdout).toMatch(/^Consumers {2,}none has it or will get it$/m);
    for (const userId of ['boss', 'north-lead', 'seller', 'rival']) {
      const { poll } = await client(service, userId, `token of ${userId}`);
      await poll();
    }
    const users = async (leadId: string) =>
      (await consumersOf(leadId)).map(({ userId }: { userId: string }) => userId);
    expect(await users('nowhere')).toEqual(['boss']);
    expect(await users('north')).toEqual(['boss', 'north-lead']);
    expect(await users('sales')).toEqual(['boss', 'north-lead', 'seller']);
  });

  /** What a client does after it has got the lead before three others, and the state of the second and the third of these. */
  const MOVES: Readonly<Record<string, [(a: number, b: number, c: number) => string[], string[]]>> = {
    'reads all of them': [(a) => [`since=${iso(a - 1)}`], ['delivered', 'delivered']],
    'reads pages and confirms': [
      (a, b, c) => [
        `since=${iso(a - 1)}&limit=1`,
        `since=${iso(a)}&limit=1`,
        `since=${iso(b)}`,
        `since=${iso(c)}`,
      ],
      ['confirmed', 'confirmed'],
    ],
    'asks for what comes after them': [(_a, _b, c) => [`since=${iso(c)}`], ['skipped', 'skipped']],
    'asks with the time of now': [(_a, _b, c) => [`since=${iso(c + 500)}`], ['skipped', 'skipped']],
    'asks with a time of the future': [() => ['since=2099-01-01'], ['skipped', 'skipped']],
    'asks past one of them': [(_a, b) => [`since=${iso(b)}`], ['skipped', 'delivered']],
    'polls without since, with a full page': [() => ['limit=1'], ['skipped', 'delivered']],
    'polls without since, with a page that reaches back': [() => ['limit=3'], ['delivered', 'delivered']],
    'polls without since, and confirms the newest one': [
      (_a, _b, c) => ['limit=1', `since=${iso(c)}`],
      ['skipped', 'confirmed'],
    ],
    'goes back, and reads what it had asked past': [
      (a, _b, c) => [`since=${iso(c)}`, `since=${iso(a - 1)}`],
      ['confirmed', 'confirmed'],
    ],
    'goes back, and reads a part of it': [
      (a, _b, c) => [`since=${iso(c)}`, `since=${iso(a - 1)}&limit=2`],
      ['confirmed', 'skipped'],
    ],
  };

  test.each(Object.entries(MOVES))(
    'has a tick only for leads that were sent: it %s',
    async (_name, [queries, expected]) => {
      for (const writes of ['at once', 'in between']) {
        const { clock, service, consumersOf } = await installation();
        const { poll } = await client(service, 'boss', 'n8n');
        await service.add({});
        await poll();
        await service.service.recorder?.flush();
        const [a = 0, b = 0, c = 0] = await service.add({ id: 'a' }, { id: 'b' }, { id: 'c' });
        clock.advance(1000);
        for (const query of queries(a, b, c)) {
          expect((await poll(query)).status).toBe(200);
          if (writes === 'in between') await service.service.recorder?.flush();
        }
        const states = await Promise.all(['b', 'c'].map((id) => consumersOf(id)));
        expect(
          states.map(([found]) => found.state),
          `written ${writes}`,
        ).toEqual(expected);
      }
    },
  );

  test('a HEAD sends nothing', async () => {
    const { clock, service, consumersOf } = await installation();
    const { poll } = await client(service, 'boss', 'n8n');
    await service.add({});
    await poll();
    const [a = 0, b = 0] = await service.add({ id: 'a' }, {});
    clock.advance(1000);
    await poll(`since=${iso(a - 1)}`, { method: 'HEAD' });
    await poll(`since=${iso(b)}`);
    expect(await consumersOf('a')).toMatchObject([{ state: 'skipped' }]);
  });

  test('a restart hides no lead that was skipped; a crash hides none that was added since', async () => {
    const { clock, service, consumersOf } = await installation();
    const poll = async (instance: typeof service, since: number) => {
      expect((await (await client(instance, 'boss', 'n8n')).poll(`since=${iso(since)}`)).status).toBe(200);
      await instance.service.recorder?.flush();
    };
    const restart = async (stopped: typeof service) => {
      clock.advance(1000);
      await stopped.stop();
      clock.advance(1000);
      const beside = { clock, beside: stopped, organisation: { companies: [] } };
      const started = await startService(beside);
      clock.advance(1000);
      return started;
    };
    const [start = 0] = await service.add({});
    await poll(service, start);
    const [a = 0] = await service.add({ id: 'a' });
    const second = await restart(service);
    await poll(second, a);
    expect(await consumersOf('a')).toMatchObject([{ state: 'skipped' }]);
    clock.advance(1000);
    const { consumers } = second.store;
    await (await client(second, 'boss', 'n8n')).poll();
    vi.spyOn(consumers, 'record').mockRejectedValue(new Error('the instance was killed'));
    const third = await restart(second);
    const [b = 0] = await third.add({ id: 'b' });
    clock.advance(1000);
    await poll(third, b);
    expect(await consumersOf('b')).toMatchObject([{ state: 'skipped' }]);
  });

  test('two instances that deliver to one client have no lead missing between them', async () => {
    const { clock, service, run, consumersOf } = await installation();
    const other = await startService({ beside: service, clock });
    const { poll } = await client(service, 'boss', 'zapier');
    const { poll: pollOther } = await client(other, 'boss', 'zapier');
    await service.add({});
    await poll('limit=2');
    await service.add({ id: 'a' }, { id: 'b' });
    await pollOther('limit=2');
    await service.add({ id: 'c' }, { id: 'd' });
    await poll('limit=2');
    // The second instance writes last.
    await service.service.recorder?.flush();
    await other.service.recorder?.flush();
    for (const id of ['a', 'b', 'c', 'd'])
      expect(await consumersOf(id)).toMatchObject([{ state: 'delivered' }]);
    expect((await run('consumers')).stderr).toBe('');
    expect((await run('leads show a')).stdout).not.toContain('skipped');
  });

  test('says that history was not delivered to those who had polled before', async () => {
    const { clock, service, run, consumersOf } = await installation();
    const { poll } = await client(service, 'boss', 'zapier');
    await service.add({ id: 'new' });
    await poll();
    const old = { companyId: 'acme', id: 'old', createdAt: Date.UTC(2020, 0), fields: {} };
    await service.store.writeLeads([old], { historical: true });
    const sentence = 'This lead was imported as history.';
    expect((await run('leads show old')).stdout).toContain(sentence);
    expect(await consumersOf('old')).toMatchObject([{ tokenId: 'zapier', state: 'skipped' }]);
    clock.advance(1000);
    const { poll: later } = await client(service, 'boss', 'zz-later');
    await later();
    expect(await consumersOf('old')).toMatchObject([{ state: 'skipped' }, { state: 'delivered' }]);
    expect((await run('leads show new')).stdout).not.toContain(sentence);
  });

  test('has no consumers if they are not recorded', async () => {
    const { service, run } = await installation();
    await service.add({ id: '4711' });
    await service.poll('boss');
    const env = { LEADTAP_CONSUMERS: 'off' };
    expect((await run('leads show 4711', { env })).stdout).not.toContain('Consumers');
    expect(JSON.parse((await run('leads show 4711 --json', { env })).stdout)).not.toHaveProperty('consumers');
  });
});
