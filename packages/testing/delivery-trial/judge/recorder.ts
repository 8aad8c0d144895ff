import type { Change, History, Page, SeenLead, StoredLead, Write } from './history.ts';

/** A commit that has been sent. Without a word about its end, its outcome stays unknown. */
export interface Commit {
  /** With the stamps of all its leads, in their order, where the answer gives them, and with the ids of those that had none. */
  acknowledge(createdAt?: readonly (number | undefined)[], ids?: readonly (string | undefined)[]): void;
  /** The database has said that nothing was committed. */
  refuse(): void;
  /** It may have been committed, but cannot be from now on: its connection or its process is gone. */
  settle(): void;
}

type OpenWrite = Omit<Change, 'createdAt' | 'id'> & {
  id: string;
  createdAt?: number | undefined;
  readonly begun: number;
  acknowledged: number | undefined;
  settled?: number;
};

/** Takes down the history of a trial while it happens. */
export class Recorder {
  readonly #writes = new Set<OpenWrite>();
  readonly #pages: Page[] = [];
  readonly #complaints: string[] = [];
  readonly #seen = new Map<string, SeenLead>();
  /** Those who wait for a change, by company. */
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly counts = new Map<string, number>();
  #position = 0;
  #clockSetBackAt: number | undefined;

  /** The position of an event that happens now. */
  next(): number {
    this.#position += 1;
    return this.#position;
  }

  count(what: string, more = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + more);
  }

  /** To be called just before a commit is sent. */
  commit(changes: readonly Change[]): Commit {
    const begun = this.next();
    const writes = changes.map((change): OpenWrite => ({ ...change, begun, acknowledged: undefined }));
    for (const write of writes) this.#writes.add(write);
    return {
      acknowledge: (createdAt = [], ids = []) => {
        const acknowledged = this.next();
        for (const [index, write] of writes.entries()) {
          write.acknowledged = acknowledged;
          write.createdAt ??= createdAt[index];
          write.id = ids[index] ?? write.id;
        }
        this.announce(writes);
      },
      settle: () => {
        const settled = this.next();
        for (const write of writes) write.settled = settled;
      },
      refuse: () => {
        for (const write of writes) this.#writes.delete(write);
      },
    };
  }

  page(page: Page): void {
    // Many pages show the same lead: one object stands for all of them.
    const leads = page.leads.map((lead) => {
      const key = `${lead.triggerId} ${lead.version} ${lead.createdAt} ${lead.id} ${lead.automationCreatedAt}`;
      const known = this.#seen.get(key) ?? lead;
      this.#seen.set(key, known);
      return known;
    });
    this.#pages.push({ ...page, leads });
  }

  complain(sentence: string): void {
    this.#complaints.push(sentence);
  }

  /** Something has changed in these companies, or in all of them: another poll is worth while. */
  announce(changes?: readonly { readonly companyId: string }[]): void {
    const companyIds = changes
      ? new Set(changes.map(({ companyId }) => companyId))
      : [...this.#waiting.keys()];
    for (const companyId of companyIds) {
      const waiting = this.#waiting.get(companyId) ?? [];
      this.#waiting.delete(companyId);
      for (const resume of waiting) resume();
    }
  }

  nextChange(companyId: string): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.set(companyId, [...(this.#waiting.get(companyId) ?? []), resolve]);
    });
  }

  clockStepped(ms: number): void {
    if (ms < 0) this.#clockSetBackAt ??= this.next();
  }

  get writes(): number {
    return this.#writes.size;
  }

  get pages(): number {
    return this.#pages.length;
  }

  history(stored: readonly StoredLead[]): History {
    return {
      writes: [...this.#writes] satisfies readonly Write[],
      pages: this.#pages,
      stored,
      clockSetBackAt: this.#clockSetBackAt,
      complaints: this.#complaints,
    };
  }
}
