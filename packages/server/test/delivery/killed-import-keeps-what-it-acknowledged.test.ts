import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Organisation, Store } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { type LeadtapProcess, runLeadtap, spawnLeadtap } from '../../../testing/harness/leadtap-process.ts';
import { startService } from '../../../testing/harness/service.ts';
import { engineOf } from '../../src/open-store.ts';

/** As many as an import writes in one transaction. */
const BATCH = 1000;
const BATCHES = 3;

/** When to kill: after so many acknowledgements, and so many batches more that it has begun to read. */
const kills = [
  { acknowledged: 0, moreBatches: 0 },
  { acknowledged: 0, moreBatches: 1 },
  { acknowledged: 1, moreBatches: 1 },
  { acknowledged: 2, moreBatches: 0 },
];

const companyId = (round: number) => `company-${round}`;

/** A company for each kill, so that no import has to wait because a company takes 1,000 leads a second. */
const ORGANISATION: Organisation = {
  companies: kills.map((_, round) => ({
    id: companyId(round),
    name: 'Acme',
    branches: [],
    users: [
      {
        id: `user-${round}`,
        email: null,
        name: null,
        plan: 'PROFESSIONAL',
        accessLevel: 'COMPANY',
        branchId: null,
        departmentId: null,
      },
    ],
  })),
};

const idsUpTo = (count: number) => Array.from({ length: count }, (_, index) => `lead-${index}`);

const lines = (round: number, ids: readonly string[]) =>
  ids.map((id) => `${JSON.stringify({ companyId: companyId(round), id, firstName: 'Ada' })}\n`).join('');

const leadsOf = async (store: Store, round: number) => {
  const scope = { level: 'COMPANY', companyId: companyId(round) } as const;
  return (await store.readPage({ scope, since: 0, limit: 100_000 })).leads;
};

/** Gives it a batch, and waits until it has read all of it but what a pipe holds. */
async function feed({ child }: LeadtapProcess, round: number, batch: number): Promise<void> {
  const ids = idsUpTo((batch + 1) * BATCH).slice(batch * BATCH);
  if (!child.stdin.write(lines(round, ids))) await once(child.stdin, 'drain');
}

/** Until the import reports this line as saved: an import that gets its lines slowly saves them in smaller batches. */
async function acknowledgement({ lines }: LeadtapProcess, line: number): Promise<void> {
  for (let saved = 0; saved < line; ) {
    const { value, done } = await lines.next();
    if (done) throw new Error('the import ended');
    saved = Number(/^committed (\d+)$/.exec(value)?.[1]);
  }
}

/** Imports, kills, and tells up to which line the import was acknowledged. */
async function importAndKill(env: Record<string, string>, round: number): Promise<number> {
  const { acknowledged, moreBatches } = kills[round] ?? { acknowledged: 0, moreBatches: 0 };
  const process = spawnLeadtap(['leads', 'import', '-', '--acknowledge'], env);
  let fed = 0;
  for (let count = 0; count < acknowledged; count += 1, fed += 1) {
    await feed(process, round, fed);
    await acknowledgement(process, (fed + 1) * BATCH);
  }
  for (let count = 0; count < moreBatches; count += 1, fed += 1) await feed(process, round, fed);
  process.child.kill('SIGKILL');
  const { stdout, signal } = await process.ended;
  expect(signal).toBe('SIGKILL');
  return Math.max(0, ...[...stdout.matchAll(/^committed (\d+)\n/gm)].map(([, line]) => Number(line)));
}

describe('an import that is killed with SIGKILL', () => {
  it('keeps all that it acknowledged, and ends with exactly all leads when it is run again', async () => {
    const { store, config, leads, folder, database } = await startService({ organisation: ORGANISATION });
    const { env } = database;

    const before = [];
    for (const round of kills.keys()) {
      const acknowledged = await importAndKill(env, round);
      expect(acknowledged).toBeGreaterThanOrEqual((kills[round]?.acknowledged ?? 0) * BATCH);
      const held = await leadsOf(store, round);
      expect(held.length).toBeGreaterThanOrEqual(acknowledged);
      expect(held.map(({ id }) => id)).toEqual(idsUpTo(held.length));
      expect((await engineOf(config.database).inspect(Date.now)).faults).toEqual([]);
      expect(await leads(`user-${round}`, 'since=2020-01-01')).toHaveLength(Math.min(held.length, 100));
      before.push(held);
    }

    const whole = join(folder, 'all.ndjson');
    writeFileSync(whole, [...kills.keys()].map((round) => lines(round, idsUpTo(BATCH * BATCHES))).join(''));
    const { stdout } = await runLeadtap(['leads', 'import', whole], env);
    const updated = before.flat().length;
    expect(stdout).toBe(
      `${kills.length * BATCH * BATCHES - updated} added, ${updated} updated, 0 rejected\n`,
    );
    for (const round of kills.keys()) {
      const held = await leadsOf(store, round);
      expect(held.map(({ id }) => id)).toEqual(idsUpTo(BATCH * BATCHES));
      const kept = held
        .slice(0, before[round]?.length)
        .map(({ automation_trigger_id }) => automation_trigger_id);
      expect(kept).toEqual(before[round]?.map(({ automation_trigger_id }) => automation_trigger_id));
    }
  });
});
