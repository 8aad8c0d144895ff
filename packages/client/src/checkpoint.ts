import type { Lead } from './contract.ts';
import type { Page } from './page.ts';

/** How far a consumer has come. Plain JSON. */
export interface Checkpoint {
  /** The `createdAt` of the last lead that was taken; before the first one, where the feed began. */
  readonly since: string;
  /** The `automation_trigger_id` of the leads that were taken last: they are not handed over again. */
  readonly triggerIds: readonly string[];
  /** The service asked for no request before this moment, so a restart must not send one either. */
  readonly notBefore?: string;
}

/** Where checkpoints are kept: in memory, in a file, or wherever you keep what you made of the leads. */
export interface CheckpointStore {
  /** What was saved last; null or undefined when nothing was. */
  load(): Checkpoint | null | undefined | Promise<Checkpoint | null | undefined>;
  /** Is over when the checkpoint would survive whatever the store is to survive. */
  save(checkpoint: Checkpoint): void | Promise<void>;
}

/** Forgets with the process: after a restart the feed begins at `since` again. */
export function memoryCheckpoint(initial?: Checkpoint): CheckpointStore {
  let kept = initial;
  return {
    load: () => kept,
    save: (checkpoint) => {
      kept = checkpoint;
    },
  };
}

export function isCheckpoint(value: unknown): value is Checkpoint {
  if (typeof value !== 'object' || value === null) return false;
  const { since, triggerIds, notBefore = '' } = value as Partial<Record<keyof Checkpoint, unknown>>;
  const texts = [since, notBefore, ...(Array.isArray(triggerIds) ? triggerIds : [undefined])];
  return texts.every((text) => typeof text === 'string') && since !== '';
}

/** As many as a page holds: enough for a page that comes twice. */
const REMEMBERED = 100;

/** Times in this form compare as texts. A caller may give others that the service reads and we do not. */
const WRITTEN_BY_SERVICE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** The place in the feed up to which the consumer has taken the leads. */
export class Place {
  /** Undefined: before the first answer of a feed that begins now. */
  since: string | undefined;
  /** An earlier run left a checkpoint, so the address has worked before. */
  readonly isResumed: boolean;
  readonly #triggerIds: Set<string>;

  constructor(checkpoint: Checkpoint | undefined, since: string | undefined) {
    this.since = checkpoint?.since ?? since;
    this.isResumed = checkpoint !== undefined;
    this.#triggerIds = new Set(checkpoint?.triggerIds);
  }

  beginBehind({ leads, nextSince }: Page): void {
    this.since = nextSince;
    for (const lead of leads) this.#triggerIds.add(lead.automation_trigger_id);
  }

  /** Whether the consumer has yet to take it. Pages that come twice, out of some cache, bring nothing new. */
  isNews({ createdAt, automation_trigger_id }: Lead): boolean {
    const isBefore = WRITTEN_BY_SERVICE.test(this.since ?? '') && createdAt < (this.since ?? '');
    return !isBefore && !this.#triggerIds.has(automation_trigger_id);
  }

  take(lead: Lead): void {
    this.since = lead.createdAt;
    this.#triggerIds.add(lead.automation_trigger_id);
    for (const oldest of this.#triggerIds) {
      if (this.#triggerIds.size <= REMEMBERED) break;
      this.#triggerIds.delete(oldest);
    }
  }

  /** What to save; undefined while there is nothing to go on from. */
  checkpoint(notBefore: number | undefined): Checkpoint | undefined {
    if (this.since === undefined) return undefined;
    return {
      since: this.since,
      triggerIds: [...this.#triggerIds],
      ...(notBefore !== undefined && { notBefore: new Date(Math.ceil(notBefore)).toISOString() }),
    };
  }
}
