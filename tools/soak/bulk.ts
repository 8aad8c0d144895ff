import type { Verdict } from '../../packages/testing/delivery-trial/judge/judge.ts';
import { pollersOf, type TrialCompany } from '../../packages/testing/delivery-trial/pollers/profiles.ts';
import { beginBulkLoad, LOAD_FORMS } from '../../packages/testing/delivery-trial/postgres/bulk-load.ts';
import { readStoredFrom } from '../../packages/testing/delivery-trial/postgres/stored.ts';
import { Trial } from '../../packages/testing/delivery-trial/trial.ts';
import type { Environment } from './environment.ts';

export interface Waits {
  readonly polls: number;
  readonly medianMs: number;
  readonly slowestMs: number;
}

export interface BulkResult {
  readonly seconds: number;
  readonly waits: { readonly loading: Waits; readonly others: Waits; readonly othersBefore: Waits };
  /** Polls that were answered without the lock meanwhile. */
  readonly unlocked: number;
  readonly aheadSeconds: number;
  readonly doctor: string;
  readonly verdict: Verdict;
}

/** As long as a load is likely to take, to have something to compare with. */
const BEFORE_MS = 3000;

/** Loads many leads by one statement, once in each form, into companies of their own. */
export async function loadInBulk(
  environment: Environment,
  companies: readonly TrialCompany[],
  usersOfEach: number,
  rows: number,
): Promise<{ readonly title: string; readonly result: BulkResult }[]> {
  const results = [];
  for (const [index, form] of LOAD_FORMS.entries()) {
    const [loading, other] = companies.slice(2 * index);
    if (!loading || !other) throw new Error('each form needs two companies');
    const trialOf = (company: TrialCompany, durationsMs: number[]) =>
      new Trial({
        installation: { ...environment.installation, onAnswer: (ms) => durationsMs.push(ms) },
        pollers: pollersOf(company, usersOfEach),
        readStored: readStoredFrom(environment.databaseUrl, [company.id]),
      });
    const times = { loading: [] as number[], others: [] as number[] };
    const trials = { loading: trialOf(loading, times.loading), others: trialOf(other, times.others) };
    const result = await loadOnce(environment, trials, times, { companyId: loading.id, rows, form });
    results.push({ title: `${form} of ${rows.toLocaleString('en')} leads`, result });
  }
  return results;
}

async function loadOnce(
  { installation, databaseUrl }: Environment,
  { loading, others }: { readonly loading: Trial; readonly others: Trial },
  times: { readonly loading: number[]; readonly others: number[] },
  load: { readonly companyId: string; readonly rows: number; readonly form: (typeof LOAD_FORMS)[number] },
): Promise<BulkResult> {
  await others.pollDuring(new Promise((resolve) => setTimeout(resolve, BEFORE_MS)));
  const othersBefore = describe(times.others.splice(0));
  const unlockedBefore = await installation.metric('leadtap_polls_unlocked_total');
  const begun = performance.now();
  const bulk = await beginBulkLoad({ databaseUrl, ...load });
  await Promise.all([loading.pollDuring(bulk.written), others.pollDuring(bulk.written)]);
  const seconds = (performance.now() - begun) / 1000;
  const waits = { loading: describe(times.loading), others: describe(times.others), othersBefore };
  const unlocked = (await installation.metric('leadtap_polls_unlocked_total')) - unlockedBefore;
  const commit = loading.recorder.commit(bulk.leads);
  await bulk.commit();
  commit.acknowledge();
  const aheadSeconds = (await installation.metric('leadtap_stamps_ahead_seconds')) / installation.urls.length;
  const doctor = await installation.doctor();
  return { seconds, waits, unlocked, aheadSeconds, doctor, verdict: await loading.finish() };
}

function describe(durationsMs: readonly number[]): Waits {
  const sorted = [...durationsMs].sort((a, b) => a - b);
  return {
    polls: sorted.length,
    medianMs: sorted[Math.floor(sorted.length / 2)] ?? 0,
    slowestMs: sorted.at(-1) ?? 0,
  };
}
