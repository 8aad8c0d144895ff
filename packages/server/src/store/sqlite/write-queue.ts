import type { WriteAllOutcome } from '../../intake/store.ts';
import { toRejection, type WriteRequest } from '../../intake/write-all.ts';
import { takeTurn } from '../../lib/event-loop.ts';
import { asStoreError } from './errors.ts';
import { type EncodedRequest, encodeLeads, type LeadWriter, type RequestResult } from './leads-write.ts';

type Transact = <T>(work: (database: { readonly leads: LeadWriter }) => T) => Promise<T>;

interface PendingRequest {
  readonly request: EncodedRequest;
  readonly resolve: (outcome: WriteAllOutcome) => void;
  readonly reject: (reason: unknown) => void;
}

/** A larger transaction would block the event loop for longer, and gain little: the wait for the disk is a small part of it. */
const MAX_LEADS_IN_GROUP = 200;
/** A request with more of them is long work of one company. */
const MAX_SHARED_LEADS = 100;

/**
 * Requests that arrive in two turns of the event loop share a transaction, because a commit waits for the disk: of 64 clients that
 * send single leads, nearly all share one. None is acknowledged before the commit.
 */
export class WriteQueue {
  readonly #transact: Transact;
  readonly #pending: PendingRequest[] = [];

  constructor(transact: Transact) {
    this.#transact = transact;
  }

  async enqueue({ leads, ...rest }: WriteRequest): Promise<WriteAllOutcome> {
    const { companyId } = rest.scope;
    const request = { leads: await encodeLeads(leads, companyId), ...rest };
    const written = new Promise<WriteAllOutcome>((resolve, reject) => {
      const pending = { request, resolve, reject };
      if (leads.length > MAX_SHARED_LEADS) void takeTurn(companyId).then(() => this.#write([pending]));
      else this.#share(pending);
    });
    return written.catch(toRejection);
  }

  #share(request: PendingRequest): void {
    // Two turns: requests that have arrived during the last commit are checked in the first, and join this group in the second.
    if (this.#pending.length === 0)
      void takeTurn()
        .then(() => takeTurn())
        .then(() => this.#writeNext());
    this.#pending.push(request);
  }

  /** One group in each turn of the event loop: between two of them, other requests are answered. */
  #writeNext(): void {
    const group = this.#pending.splice(0, countGroup(this.#pending));
    if (this.#pending.length > 0) void takeTurn().then(() => this.#writeNext());
    void this.#write(group);
  }

  async #write(group: readonly PendingRequest[]): Promise<void> {
    try {
      const results = await this.#commit(group.map(({ request }) => request));
      for (const [index, result] of results.entries())
        if ('error' in result) group[index]?.reject(asStoreError(result.error));
        else group[index]?.resolve(result.value);
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }

  /** Savepoints, for which SQLite copies every page that changes, are used only after a request has failed: few leads are rejected. */
  async #commit(requests: readonly EncodedRequest[]): Promise<readonly RequestResult[]> {
    let isWriting = false;
    try {
      return await this.#transact(({ leads }) => {
        isWriting = true;
        const results = leads.writeTogether(requests);
        isWriting = false;
        return results;
      });
    } catch (error) {
      if (!isWriting || requests.length === 1) throw error;
      return this.#transact(({ leads }) => leads.writeEach(requests));
    }
  }
}

/** How many of the first requests fit into one transaction; at least one. */
function countGroup(pending: readonly PendingRequest[]): number {
  let leadCount = 0;
  const end = pending.findIndex(({ request: { leads } }, index) => {
    leadCount += leads.length;
    return index > 0 && leadCount > MAX_LEADS_IN_GROUP;
  });
  return end === -1 ? pending.length : end;
}
