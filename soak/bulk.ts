import { beginBulkLoad, type LOAD_FORMS } from '../packages/server/test/delivery/trial/bulk-load.ts';
import type { Seat } from '../packages/server/test/delivery/trial/seats.ts';
import { Trial } from '../packages/server/test/delivery/trial/trial.ts';
import type { Verdict } from '../packages/server/test/delivery/trial/verdict.ts';
import type { SoakInstallation } from './installation.ts';

export interface BulkOptions {
  readonly databaseUrl: string;
  readonly installation: SoakInstallation;
  /** Those of two companies; leads are loaded into the first. */
  readonly seats: readonly Seat[];
  readonly rows: number;
  readonly form: (typeof LOAD_FORMS)[number];
}

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

/** Loads many leads by one statement while both companies are polled, and looks what became of everybody. */
export async function loadInBulk({
  databaseUrl,
  installation,
  seats,
  rows,
  form,
}: BulkOptions): Promise<BulkResult> {
  const [companyId = ''] = seats.map((seat) => seat.companyId);
  const times = { loading: [] as number[], others: [] as number[] };
  const trialOf = (who: keyof typeof times, ours: readonly Seat[]) => {
    const onAnswer = (durationMs: number) => times[who].push(durationMs);
    return new Trial({ databaseUrl, installation: { ...installation, onAnswer }, seats: ours });
  };
  const loading = trialOf(
    'loading',
    seats.filter((seat) => seat.companyId === companyId),
  );
  const others = trialOf(
    'others',
    seats.filter((seat) => seat.companyId !== companyId),
  );

  await others.pollDuring(new Promise((resolve) => setTimeout(resolve, BEFORE_MS)));
  const othersBefore = describe(times.others.splice(0));
  const unlockedBefore = await installation.metric('leadtap_polls_unlocked_total');
  const begun = performance.now();
  const load = await beginBulkLoad({ databaseUrl, companyId, rows, form });
  await Promise.all([loading.pollDuring(load.written), others.pollDuring(load.written)]);
  const seconds = (performance.now() - begun) / 1000;
  const waits = { loading: describe(times.loading), others: describe(times.others), othersBefore };
  const unlocked = (await installation.metric('leadtap_polls_unlocked_total')) - unlockedBefore;
  await load.commit();
  loading.ledger.commit(load.leads);
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
