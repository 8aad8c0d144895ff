import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import type { LeadInput } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import { madeUpLead } from './made-up-lead.ts';

const DAY_MS = 86_400_000;

export interface TrickleParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: () => number;
}

/** A few leads of the last days, so that the first poll shows something. */
export async function addHistory({ store, clock, random }: TrickleParts, count: number): Promise<void> {
  const leads = Array.from({ length: count }, () => {
    const createdAt = clock() - Math.floor(random() * 5 * DAY_MS);
    return { ...madeUpLead(random, createdAt), createdAt };
  });
  await store.writeLeads(leads, { historical: true });
}

export type NewLead = { readonly lead: LeadInput; readonly createdAt: number };

/** A new lead every few seconds, until the signal. */
export async function* trickle(
  { store, clock, random }: TrickleParts,
  signal: AbortSignal,
): AsyncGenerator<NewLead> {
  while (!signal.aborted) {
    const lead = madeUpLead(random, clock());
    const outcome = await store.writeLeads([lead]);
    const result = outcome.kind === 'written' ? outcome.results[0] : undefined;
    if (result?.kind === 'added') yield { lead, createdAt: result.createdAt };
    await pause(3000 + random() * 5000, undefined, { signal }).catch(() => undefined);
  }
}
