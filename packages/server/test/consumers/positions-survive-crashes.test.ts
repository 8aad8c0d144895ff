// @both-stores for each change
import { randomUUID } from 'node:crypto';
import { leadStateOf } from '@leadtap/contract';
import { expect, it, vi } from 'vitest';
import { runPositionTrial } from '../../../testing/delivery-trial/consumers/position-trial.ts';
import { CONSUMER_KINDS } from '../../../testing/delivery-trial/consumers/trial-consumer.ts';
import { type ServiceOptions, startService, type TestService } from '../../../testing/harness/service.ts';
import { terminal } from '../cli/terminal.ts';

const FLUSH_MS = 20;
const LEADS = 600;

/** An instance, and the time of its last write of consumers that was successful. */
interface Instance extends TestService {
  lastWriteAt(): number;
}

async function startInstance(options: ServiceOptions = {}): Promise<Instance> {
  const service = await startService({ consumerFlushMs: FLUSH_MS, ...options });
  const { consumers } = service.store;
  const { record } = consumers;
  let lastWriteAt = 0;
  /** A write that has failed is repeated first. */
  let triedAt: number | undefined;
  vi.spyOn(consumers, 'record').mockImplementation(async (polls) => {
    triedAt ??= Date.now();
    const written = await record.call(consumers, polls);
    lastWriteAt = triedAt;
    triedAt = undefined;
    return written;
  });
  return { ...service, lastWriteAt: () => lastWriteAt };
}

/** Ends an instance as SIGKILL does: what it has in memory is lost. A new one takes its address. */
async function replace(crashed: Instance): Promise<Instance> {
  const { consumers } = crashed.store;
  if (consumers) vi.spyOn(consumers, 'record').mockRejectedValue(new Error('the instance was killed'));
  crashed.service.publicServer.server.closeAllConnections();
  await crashed.stop();
  return startInstance({
    beside: crashed,
    organisation: { companies: [] },
    env: { LEADTAP_PORT: new URL(crashed.url).port },
  });
}

it('positions say of every lead what five consumers know, while they and two instances crash', async () => {
  const first = await startInstance();
  const second = await startInstance({ beside: first, organisation: { companies: [] } });
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
      if (!crashed) throw new Error(`there is no instance ${index}`);
      const lostFrom = crashed.lastWriteAt();
      instances[index] = await replace(crashed);
      return lostFrom;
    },
    leads: LEADS,
    polls: 30,
    pauseMs: 40,
    maxLimit: 25,
    waitS: 1,
    crashes: 4,
    seed: 7,
  });
  for (const { service } of instances) await service.recorder?.flush();

  const store = await first.database.openStore();
  const now = Date.now();
  const consumers = await store.consumers.list({ limit: 100, maxPendingLeads: 1, now });
  const leads = await store.listLeads({ since: 0, limit: LEADS * 2 });
  await store.close();
  expect(leads.length).toBeGreaterThanOrEqual(LEADS);
  const shell = terminal();
  const counts = { confirmed: 0, delivered: 0, waiting: 0, skipped: 0, exact: 0, pairs: 0 };
  const wrong: string[] = [];
  for (const [index, { lead }] of leads.entries()) {
    const shown = index % 30 === 0 ? await show(lead.id) : undefined;
    for (const { kind, tokenId } of tokens) {
      const consumer = consumers.find((found) => found.tokenId === tokenId);
      const state = consumer ? leadStateOf(consumer, lead) : 'waiting';
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
  for (const state of ['confirmed', 'delivered', 'waiting', 'skipped'] as const)
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
