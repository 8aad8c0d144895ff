import type { LeadInput } from '../../store/records.ts';
import type { LeadResult } from '../../store/store.ts';

/** New leads of one company are stamped a millisecond apart, so the clock keeps up with 1,000 a second. */
const LEADS_PER_MS = 1;
/** An import moves a company's stamps no further ahead of the clock than this. */
const MAX_AHEAD_MS = 5000;

/**
 * A token bucket for each company: 1,000 new leads a second, and 5,000 at once. It counts what this import has added and
 * nothing else: stamps that are ahead because the clock was set back, or through other writers, do not stop it.
 */
export class ImportPace {
  readonly #elapsedMs: () => number;
  /** By company, when the clock has caught up with the stamps of this import. */
  readonly #caughtUpAt = new Map<string, number>();

  /** The time must never go back, so it is not the time of day. */
  constructor(elapsedMs: () => number) {
    this.#elapsedMs = elapsedMs;
  }

  /** How long to wait before these leads are written; 0 or less: not at all. Whether they are new is not known yet. */
  waitMs(leads: readonly LeadInput[]): number {
    const now = this.#elapsedMs();
    let waitMs = 0;
    for (const [companyId, count] of countByCompany(leads)) {
      const aheadMs = (this.#caughtUpAt.get(companyId) ?? now) - now;
      const room = MAX_AHEAD_MS - Math.min(count / LEADS_PER_MS, MAX_AHEAD_MS);
      waitMs = Math.max(waitMs, aheadMs - room);
    }
    return waitMs;
  }

  /** Takes note of those that were added: updates and rejected leads need no stamp. */
  record(leads: readonly LeadInput[], results: readonly LeadResult[]): void {
    const now = this.#elapsedMs();
    for (const [companyId, at] of this.#caughtUpAt) if (at <= now) this.#caughtUpAt.delete(companyId);
    const added = leads.filter((_lead, index) => results[index]?.kind === 'added');
    for (const [companyId, count] of countByCompany(added))
      this.#caughtUpAt.set(companyId, (this.#caughtUpAt.get(companyId) ?? now) + count / LEADS_PER_MS);
  }
}

function countByCompany(leads: readonly LeadInput[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { companyId } of leads) counts.set(companyId, (counts.get(companyId) ?? 0) + 1);
  return counts;
}
