/** Nothing that is paced moves the stamps of a company much further ahead of the clock than this. */
export const MAX_AHEAD_MS = 5000;

interface CompanyPace {
  /** When the clock catches up with the stamps of the leads that were added. */
  catchesUpAt: number;
  /** Leads that are being written, each of which may be new. */
  reserved: number;
}

/**
 * A token bucket for each company. New leads of a company are stamped one millisecond apart, so the clock keeps up with 1,000
 * per second. The bucket counts only what its owner, an import or a handler, has
 * added: stamps that are ahead because the clock was set back, or because of other writers, do not count.
 */
export class StampPace {
  readonly #elapsedMs: () => number;
  readonly #companies = new Map<string, CompanyPace>();

  /** `elapsedMs` is a monotonic clock, so that setting the time of the machine changes nothing. */
  constructor(elapsedMs: () => number) {
    this.#elapsedMs = elapsedMs;
  }

  /** How far the stamps are ahead of the clock, if all leads that are being written are new. */
  aheadMs(companyId: string): number {
    const company = this.#companies.get(companyId);
    if (!company) return 0;
    return Math.max(0, company.catchesUpAt - this.#elapsedMs()) + company.reserved;
  }

  /** Call the result with the number of leads that were added: updates and rejected leads need no stamp. */
  reserve(companyId: string, leads: number): (added: number) => void {
    const company = this.#companies.get(companyId) ?? { catchesUpAt: 0, reserved: 0 };
    this.#companies.set(companyId, company);
    company.reserved += leads;
    return (added) => {
      const now = this.#elapsedMs();
      company.reserved -= leads;
      company.catchesUpAt = Math.max(company.catchesUpAt, now) + added;
    };
  }
}
