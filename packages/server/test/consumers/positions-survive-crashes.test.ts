import { randomUUID } from 'node:crypto';
import { expect, it, vi } from 'vitest';
import { runPositionTrial } from '../../../testing/delivery-trial/consumers/position-trial.ts';
import { CONSUMER_KINDS } from '../../../testing/delivery-trial/consumers/trial-consumer.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { leadStateOf } from '../../src/leads/consumers.ts';
import { terminal } from '../cli/terminal.ts';

const FLUSH_MS = 20;
/** Of polls before a crash that may be lost: generous, for machines that are busy. */
const WINDOW_MS = 2000;
const LEADS = 600;

/** Ends an instance as SIGKILL does: what it has in memory is lost. A new one takes its address. */
async function replace(crashed: TestService): Promise<TestService> {
  const { consumers } = crashed.store;
  if (consumers) vi.spyOn(consumers, 'record').mockRejectedValue(new Error('the instance was killed'));
  crashed.service.app.server.closeAllConnections();
  await crashed.stop();
  return startService({
    beside: crashed,
    organisation: { companies: [] },
    consumerFlushMs: FLUSH_MS,
    env: { LEADTAP_PORT: new URL(crashed.url).port },
  });
}

it('positions say of every lead what five consumers know, while they and two instances crash', async () => {
  const first = await startService({ consumerFlushMs: FLUSH_MS });
  const second = await startService({
    beside: first,
    organisation: { companies: [] },
    consumerFlushMs: FLUSH_MS,
  });
  const instances = [first, second];
  const users = ['boss', 'north-lead', 'seller', 'boss', 'boss'];
  const tokens = await Promise.all(
    CONSUMER_KINDS.map(async (kind, index) => {
      const tokenId = randomUUID();
      return { kind, tokenId, token: await first.token(users[index] ?? '', { tokenId }) };
    }),
  );
  const trial = await runPositionTrial({
    urls: instances.map(({ url }) => url),
    tokens: Object.fromEntries(tokens.map(({ kind, token }) => [kind, token])) as Record<
      (typeof CONSUMER_KINDS)[number],
      string
    >,
    addLeads: async (count) => {
      const writer = await first.database.openStore();
      const leads = Array.from({ length: count }, () => ({
        companyId: 'acme',
        departmentId: 'sales',
        fields: {},
      }));
      await writer.writeLeads(leads);
      await writer.close();
    },
    crash: async (index) => {
      const crashed = instances[index];
      if (crashed) instances[index] = await replace(crashed);
    },
    leads: LEADS,
    polls: 30,
    pauseMs: 40,
    maxLimit: 25,
    waitS: 1,
    crashes: 4,
    windowMs: WINDOW_MS,
    seed: 7,
  });
  for (const { service } of instances) await service.recorder?.flush();

  const store = await first.database.openStore();
  const now = Date.now();
  const consumers = (await store.consumers?.list({ limit: 100, maxPendingLeads: 1, now })) ?? [];
  const leads = await store.listLeads({ since: 0, limit: LEADS * 2 });
  await store.close();
  expect(leads.length).toBeGreaterThanOrEqual(LEADS);
  const shell = terminal();
  const counts = { confirmed: 0, delivered: 0, waiting: 0, exact: 0, pairs: 0 };
  const wrong: string[] = [];
  for (const [index, { lead }] of leads.entries()) {
    const shown = index % 30 === 0 ? await show(lead.id) : undefined;
    for (const { kind, tokenId } of tokens) {
      const consumer = consumers.find((found) => found.tokenId === tokenId);
      const state = consumer ? leadStateOf(consumer, lead.createdAt) : 'waiting';
      const allowed = trial.allowedStates(kind, lead.createdAt);
      if (!allowed.has(state)) wrong.push(`${kind}, lead ${index}: ${state} instead of ${[...allowed]}`);
      if (shown && shown.get(tokenId) !== state) wrong.push(`${kind}, lead ${index}: leads show differs`);
      counts[state] += 1;
      counts.pairs += 1;
      if (allowed.size === 1) counts.exact += 1;
    }
  }
  expect(wrong).toEqual([]);
  // The trial has done what it is for.
  expect(trial.instanceCrashes).toBe(4);
  expect(trial.consumers.flatMap(({ crashes }) => crashes).length).toBeGreaterThan(0);
  expect(counts.exact).toBeGreaterThan(0.25 * counts.pairs);
  for (const state of ['confirmed', 'delivered', 'waiting'] as const)
    expect(counts[state]).toBeGreaterThan(0);

  async function show(id: string): Promise<Map<string, string>> {
    const { stdout } = await shell.run(`leads show ${id} --json`, {
      env: first.database.env,
      parts: { clock: () => now },
    });
    const shown: { tokenId: string; state: string }[] = JSON.parse(stdout).consumers;
    return new Map(shown.map(({ tokenId, state }) => [tokenId, state]));
  }
});
