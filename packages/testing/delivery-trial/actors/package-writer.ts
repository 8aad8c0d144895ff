import type { LeadInput, Store } from 'leadtap';
import { type Actor, PLACES } from '../actor.ts';
import type { Change } from '../judge/history.ts';
import type { Commit, Recorder } from '../judge/recorder.ts';

export interface PackageWriterOptions {
  readonly name: string;
  readonly companyIds: readonly string[];
  /** Ids that others write and delete as well. */
  readonly contendedIds: readonly string[];
  openStore(): Promise<Store>;
  /** A database that goes away and comes back is expected. */
  readonly toleratesFaults?: boolean;
}

/** A program that embeds the package and writes batches through its store, to several companies at once. */
export const packageWriter = (options: PackageWriterOptions): Actor => ({
  name: 'package writers',
  run: async ({ recorder, random, goesOn, pause }) => {
    const { name, companyIds, contendedIds } = options;
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
        ageMs: 1000 + random.below(50_000),
        unsettled,
        toleratesFaults: options.toleratesFaults ?? false,
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
  readonly toleratesFaults?: boolean;
}

/** Writes a batch, and records what came of it. */
export async function writeThrough(
  store: Store,
  recorder: Recorder,
  leads: readonly PlacedLead[],
  { name, isHistorical = false, ageMs = 0, unsettled = [], toleratesFaults = false }: WriteThroughOptions,
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
  const commit = recorder.commit(changes);
  try {
    const outcome = await store.writeLeads(inputs, { historical: isHistorical });
    const results = outcome.kind === 'written' ? outcome.results : [];
    commit.acknowledge(results.map((result) => (result.kind === 'rejected' ? undefined : result.createdAt)));
    recorder.count('leads through the package', batch.length);
    for (const earlier of unsettled.splice(0)) earlier.settle();
    const rejected = results.find(({ kind }) => kind === 'rejected');
    if (rejected) recorder.complain(`${name} was refused: ${JSON.stringify(rejected)}`);
  } catch (error) {
    unsettled.push(commit);
    if (toleratesFaults) recorder.count('package writes with an unknown outcome');
    else recorder.complain(`${name} failed: ${String(error)}`);
  }
}
