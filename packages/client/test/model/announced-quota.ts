import type { Answer } from './faulty-network.ts';

/** Whether a refusal of the service is the client's own fault: by the quota announced last. */
export class AnnouncedQuota {
  #remaining = 0;
  // At first the client knows nothing, which is as if others had asked.
  #haveOthersAsked = true;
  #isForgotten = false;

  /** The least that any limit leaves, as far as the answer tells. */
  answered({ headers }: Answer): void {
    const remaining = [...(headers['ratelimit'] ?? '').matchAll(/r=(\d+)/g)].map(([, r]) => Number(r));
    if (remaining.length === 0) return;
    this.#remaining = Math.min(...remaining);
    this.#haveOthersAsked = false;
    this.#isForgotten = false;
  }

  othersAsked(): void {
    this.#haveOthersAsked = true;
  }

  /** A new run remembers only that nothing was left, and only if there was a checkpoint to write that into. */
  restarted(hasCheckpoint: boolean): void {
    if (this.#remaining > 0 || !hasCheckpoint) this.#isForgotten = true;
  }

  get shouldHaveKnown(): boolean {
    return !this.#haveOthersAsked && !this.#isForgotten;
  }
}
