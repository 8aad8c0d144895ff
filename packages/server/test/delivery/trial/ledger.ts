import { EventEmitter, once } from 'node:events';

export interface Placed {
  readonly companyId: string;
  readonly branchId: string | null;
  readonly departmentId: string | null;
}

export interface WrittenLead extends Placed {
  readonly id: string;
}

export type End = 'committed' | 'rolledBack' | 'cutOff' | 'refused';

/** What became of every lead, as its writer knows it. */
export class Ledger {
  readonly committed = new Map<string, WrittenLead>();
  /** Rolled back, or gone with the connection before the commit. */
  readonly undone = new Set<string>();
  readonly transactions: Record<End, number> = { committed: 0, rolledBack: 0, cutOff: 0, refused: 0 };
  readonly #ends = new EventEmitter().setMaxListeners(0);

  /** Settles when a transaction ends next, in whatever way. */
  async nextEnd(): Promise<void> {
    await once(this.#ends, 'end');
  }

  commit(leads: readonly WrittenLead[]): void {
    for (const lead of leads) this.committed.set(lead.id, lead);
  }

  /** A transaction that inserted all of `inserted` ends; what it still has of them is `kept`. */
  end(how: End, inserted: readonly WrittenLead[], kept: readonly WrittenLead[]): void {
    this.transactions[how] += 1;
    if (how === 'committed') this.commit(kept);
    for (const { id } of inserted) if (!this.committed.has(id)) this.undone.add(id);
    this.#ends.emit('end');
  }
}
