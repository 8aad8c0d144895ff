import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService } from '../../../testing/harness/service.ts';
import { subscribe, ZAPIER_URL } from '../hooks/support/hooks.ts';
import { terminal } from './terminal.ts';

const LONG = 'Zapier of the sales team in the north';

test('tables have at most 80 columns at a terminal, and everything elsewhere', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  const { store, url, database } = service;
  const [tokenId, leadId] = [randomUUID(), randomUUID()];
  const grant = { id: tokenId, userId: 'north-lead', name: LONG, issuedAt: clock() };
  const scopes = ['leads:read', 'leads:write'] as const;
  await store.recordTokens([{ ...grant, expiresAt: clock() + 86_400_000, scopes }]);
  await store.updateUser('north-lead', { name: LONG, email: `${LONG.replaceAll(' ', '.')}@example.com` });
  await service.add({ id: leadId, fields: { fullName: LONG }, branchId: 'north', departmentId: 'sales' });
  const token = await service.token('north-lead', { tokenId });
  const { id: hookId } = await subscribe(service, token, ZAPIER_URL);
  const poll = `${url}/automation/new-leads?since=2026-01-01`;
  await fetch(poll, { headers: { authorization: `Bearer ${token}` } });
  await service.service.connections.flush();
  const run = async (command: string, isTTY: boolean) =>
    (await terminal().run(command, { env: database.env, isTTY, parts: { clock } })).stdout;
  for (const [command, shown, all] of [
    ['token list --user north-lead', [tokenId, 'active'], [tokenId, LONG, 'ISSUED', 'SCOPE']],
    ['user list', ['north-lead ', 'BRANCH', 'PROFESSIONAL'], ['@example.com', LONG, 'DEPARTMENT']],
    ['connections', ['Zapier of'], [LONG]],
    [
      'hooks list',
      [hookId, 'active', 'STATUS', 'LEADS', 'hooks.zap'],
      [hookId, LONG, 'FAILURES', 'ANNOUNCED THROUGH'],
    ],
    ['leads list', [leadId, 'Zapier of', ' acme ', '2026-'], [leadId, LONG, 'PLACE', 'STATUS']],
  ] as const) {
    const table = await run(command, true);
    expect(Math.max(...table.split('\n').map(({ length }) => length)), table).toBeLessThanOrEqual(80);
    for (const text of shown) expect(table).toContain(text);
    const whole = await run(command, false);
    for (const text of all) expect(whole).toContain(text);
  }
});
