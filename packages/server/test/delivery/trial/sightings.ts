import type { Lead } from '@leadtap/contract';

/** What pollers were shown, all of one company together, and what of it breaks a promise. */
export class Sightings {
  readonly broken = new Set<string>();
  readonly #leads = new Map<string, string>();
  readonly #ids = new Map<string, string>();

  see(leads: readonly Lead[]): void {
    for (const lead of leads) {
      this.#once('D1', `createdAt ${lead.createdAt}`, lead.id);
      this.#once('D4', `automation_trigger_id ${lead.automation_trigger_id}`, lead.id);
      const frozen = [lead.createdAt, lead.automation_trigger_id, lead.automation_created_at].join(' ');
      const before = this.#leads.get(lead.id) ?? frozen;
      this.#leads.set(lead.id, frozen);
      if (before !== frozen) this.broken.add(`D4: ${lead.id} was ${before}, then ${frozen}`);
    }
  }

  /** What one lead has, no other lead has. */
  #once(promise: string, what: string, id: string): void {
    const first = this.#ids.get(what) ?? id;
    this.#ids.set(what, first);
    if (first !== id) this.broken.add(`${promise}: ${first} and ${id} have the same ${what}`);
  }
}
