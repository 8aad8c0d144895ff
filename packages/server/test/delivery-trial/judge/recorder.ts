import { EventEmitter, once } from 'node:events';
import type { Change, History, Page, SeenLead, StoredLead, Write } from './history.ts';

/** A commit that has been sent. Without a word about its end, its outcome stays unknown. */
export interface Commit {
  /** With the stamps of all its leads, in their order, where the answer gives them. */
  acknowledge(createdAt?: readonly (number | undefined)[]): void;
  /** The database has said that nothing was committed. */
  refuse(): void;
  /** It may have been committed, but cannot be from now on: its connection or its process is gone. */
  settle(): void;
}

type OpenWrite = Omit<Change, 'createdAt'> & {
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
  readonly #events = new EventEmitter().setMaxListeners(0);
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
      acknowledge: (createdAt = []) => {
        const acknowledged = this.next();
        for (const [index, write] of writes.entries()) {
          write.acknowledged = acknowledged;
          write.createdAt ??= createdAt[index];
        }
        this.#events.emit('change');
      },
      settle: () => {
        const settled = this.next();
        for (const write of writes) write.settled = settled;
      },
      refuse: () => {
        for (const write of writes) this.#writes.delete(write);
        this.#events.emit('change');
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

  /** Something happened that makes another poll worth while. */
  announce(): void {
    this.#events.emit('change');
  }

  async nextChange(): Promise<void> {
    await once(this.#events, 'change');
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
