import { describe, expect, test } from 'vitest';
import { startService } from '../../../testing/harness/service.ts';
import { client, iso } from '../consumers/support/consumers.ts';
import { type RunOptions, terminal } from './terminal.ts';

async function installation() {
  const service = await startService();
  const shell = terminal();
  const run = async (command: string, options: RunOptions = {}) => {
    await service.service.recorder?.flush();
    const env = { ...service.database.env, ...options.env };
    return shell.run(command, { ...options, env, parts: { clock: () => Date.now() } });
  };
  const consumersOf = async (leadId: string) =>
    JSON.parse((await run(`leads show ${leadId} --json`)).stdout).consumers;
  return { service, run, consumersOf };
}

describe('leadtap leads show', () => {
  test('says for each consumer whether it has confirmed the lead, got it, or waits for it', async () => {
    const { service, run, consumersOf } = await installation();
    const { poll: confirming } = await client(service, 'boss', 'a-confirms');
    const { poll: reading } = await client(service, 'boss', 'b-reads');
    const { poll: waiting } = await client(service, 'boss', 'c-waits');
    const issuedAt = Date.now();
    await service.store.recordTokens([
      { id: 'a-confirms', userId: 'boss', name: 'n8n', issuedAt, expiresAt: issuedAt + 1e9, scopes: [] },
    ]);
    await waiting();
    const [added = 0] = await service.add({ id: '4711' });
    await confirming(`since=${iso(added)}`);
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
    ]);
    const { code, stdout } = await run('leads show 4711');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Consumers {2,}n8n \(user boss\): confirmed; last poll \d s ago, status 200$/m);
    expect(stdout).toMatch(/^ +token b-reads \(user boss\): delivered; last poll/m);
    expect(stdout).toMatch(
      new RegExp(`^ +token c-waits \\(user boss\\): waiting since ${iso(added)}; last poll`, 'm'),
    );
  });

  test('lists only consumers that may see the lead', async () => {
    const { service, run, consumersOf } = await installation();
    await service.add(
      { id: 'nowhere' },
      { id: 'north', branchId: 'north' },
      { id: 'sales', departmentId: 'sales' },
    );
    expect((await run('leads show sales')).stdout).toMatch(/^Consumers {2,}none has polled$/m);
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

  test('says that a client without since may have missed a lead that it counts as delivered', async () => {
    const { service, run, consumersOf } = await installation();
    await service.add({});
    const { poll } = await client(service, 'boss', 'zapier');
    await poll();
    const [, newest = 0] = await service.add({ id: '4711' }, {});
    await poll('limit=1');
    expect(await consumersOf('4711')).toMatchObject([{ tokenId: 'zapier', state: 'delivered' }]);
    expect((await run('leads show 4711')).stdout).toContain(
      'token zapier (user boss): delivered, unless its page was full: it polls without `since`; last poll',
    );
    await poll(`since=${iso(newest)}`);
    expect(await consumersOf('4711')).toMatchObject([{ tokenId: 'zapier', state: 'confirmed' }]);
  });

  test('two instances that deliver to one client have no lead missing between them', async () => {
    const { service, run, consumersOf } = await installation();
    const other = await startService({ beside: service });
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

  test('says that history was not delivered', async () => {
    const { service, run } = await installation();
    const { poll } = await client(service, 'boss', 'zapier');
    await service.add({ id: 'new' });
    await poll();
    const old = { companyId: 'acme', id: 'old', createdAt: Date.UTC(2020, 0), fields: {} };
    await service.store.writeLeads([old], { historical: true });
    const sentence = 'This lead was imported as history.';
    expect((await run('leads show old')).stdout).toContain(sentence);
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

describe('leadtap token list', () => {
  test('has the last poll and the position of each token', async () => {
    const { service, run } = await installation();
    const issuedAt = Date.now();
    const token = { userId: 'boss', name: null, issuedAt, expiresAt: issuedAt + 1e9, scopes: ['leads:read'] };
    await service.store.recordTokens([
      { ...token, id: 'a-used' },
      { ...token, id: 'b-unused' },
    ]);
    const { poll } = await client(service, 'boss', 'a-used');
    const [added = 0] = await service.add({});
    await poll();
    const tokens = JSON.parse((await run('token list --user boss --json')).stdout);
    expect(tokens).toMatchObject([
      {
        tokenId: 'a-used',
        lastStatus: 200,
        confirmedThrough: null,
        deliveredThrough: iso(added),
        position: iso(added),
      },
      { tokenId: 'b-unused', lastPollAt: null, lastStatus: null, deliveredThrough: null, position: null },
    ]);
    const { stdout } = await run('token list --user boss');
    expect(stdout).toMatch(new RegExp(`^a-used .* ${tokens[0].lastPollAt} +${iso(added)} +active$`, 'm'));
    expect(stdout).toMatch(/^b-unused .* - +- +active$/m);
  });
});
