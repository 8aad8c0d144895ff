import type { LeadInput, Store } from 'leadtap';
import { type Actor, PLACES } from '../actor.ts';
import { isDeclaredCause } from '../declared.ts';
import type { Change } from '../judge/history.ts';
import type { Commit, Recorder } from '../judge/recorder.ts';

export interface PackageWriterOptions {
  readonly name: string;
  readonly companyIds: readonly string[];
  /** Ids that others write and delete as well. */
  readonly contendedIds: readonly string[];
  openStore(): Promise<Store>;
  /** Of historical leads. Longer than the clock is set back: a historical lead in the future is rejected. */
  readonly minHistoryAgeMs?: number;
}

/** A program that embeds the package and writes batches through its store, to several companies at once. */
export const packageWriter = (options: PackageWriterOptions): Actor => ({
  name: 'package writers',
  run: async ({ recorder, random, goesOn, pause }) => {
    const { name, companyIds, contendedIds, minHistoryAgeMs = 1000 } = options;
    const store = await options.openStore();
    const unsettled: Commit[] = [];
    for (let done = 0; goesOn(done); done += 1) {
      const isHistorical = random.chance(20);
      const leads = Array.from({ length: 1 + random.below(6) }, (): PlacedLead => {
        const isContended = !isHistorical && contendedIds.length > 0 && random.chance(30);
        return {
          companyId: companyIds[random.below(companyIds.length)] ?? '',
          id:
            (isContended && contendedIds[random.below(contendedIds.length)]) || `${name}-${recorder.next()}`,
          ...random.pick(...PLACES),
        };
      });
      await writeThrough(store, recorder, leads, {
        name,
        isHistorical,
        ageMs: minHistoryAgeMs + random.below(50_000),
        unsettled,
      });
      await pause(random.below(40));
    }
    await store.close();
  },
});

export interface PlacedLead {
  readonly companyId: string;
  readonly id: string;
  readonly branchId: string | null;
  readonly departmentId: string | null;
}

export interface WriteThroughOptions {
  readonly name: string;
  readonly isHistorical?: boolean;
  readonly ageMs?: number;
  /** Commits whose outcome is unknown. They are settled by the next that succeeds. */
  readonly unsettled?: Commit[];
}

/** Writes a batch, and records what came of it. */
export async function writeThrough(
  store: Store,
  recorder: Recorder,
  leads: readonly PlacedLead[],
  { name, isHistorical = false, ageMs = 0, unsettled = [] }: WriteThroughOptions,
): Promise<void> {
  // The same id twice in a batch is written twice; only the last write stays.
  const last = new Map(leads.map((lead) => [`${lead.companyId}\0${lead.id}`, lead]));
  const batch = [...last.values()].map((lead) => ({ lead, version: `${name}.${recorder.next()}` }));
  const changes = batch.map(({ lead: { companyId, id, branchId, departmentId }, version }): Change => {
    return { companyId, id, isHistorical, state: { branchId, departmentId, version } };
  });
  const inputs = batch.map(({ lead, version }): LeadInput => {
    const createdAt = isHistorical ? { createdAt: Date.now() - ageMs } : {};
    return { ...lead, ...createdAt, fields: { firstName: version } };
  });
  // One for each lead: the others are stored if one is rejected.
  const commits = changes.map((change) => recorder.commit([change]));
  try {
    const { results } = await store.writeLeads(inputs, { historical: isHistorical });
    for (const [index, commit] of commits.entries()) {
      const result = results[index];
      if (result && result.kind !== 'rejected') commit.acknowledge([result.createdAt]);
      else {
        commit.refuse();
        recorder.complain(`${name} was refused: ${JSON.stringify(result)}`);
      }
    }
    recorder.count('leads through the package', batch.length);
    for (const earlier of unsettled.splice(0)) earlier.settle();
  } catch (error) {
    unsettled.push(...commits);
    recorder.count('package writes with an unknown outcome');
    if (!isDeclaredCause(String(error))) recorder.complain(`${name} failed: ${String(error)}`);
  }
}
