import type { Lead } from './contract.ts';
import type { Page } from './page.ts';

/** The position of a consumer in the feed. Plain JSON. */
export interface Checkpoint {
  /** The `createdAt` of the last lead that was taken; before the first one, where the feed began. */
  readonly since: string;
  /** The `automation_trigger_id` of the leads that were taken last: they are not delivered again. */
  readonly triggerIds: readonly string[];
  /** The service asked for no request before this moment, so a restart must not send one either. */
  readonly notBefore?: string;
}

/** Where checkpoints are kept: in memory, in a file, or wherever you keep the results of your processing. */
export interface CheckpointStore {
  /** What was saved last; null or undefined when nothing was. */
  load(): Checkpoint | null | undefined | Promise<Checkpoint | null | undefined>;
  /** Resolves when the checkpoint is stored durably. */
  save(checkpoint: Checkpoint): void | Promise<void>;
}

/** Kept in memory: after a restart the feed begins at `since` again. */
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

/** As many as a page holds: enough for a page that is delivered twice. */
const REMEMBERED = 100;

/** Times in this form compare as texts. A caller may give others that the service reads and we do not. */
const WRITTEN_BY_SERVICE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** The position in the feed up to which the consumer has taken the leads. */
export class Position {
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

  startAfter({ leads, nextSince }: Page): void {
    this.since = nextSince;
    for (const lead of leads) this.#triggerIds.add(lead.automation_trigger_id);
  }

  /** False for a lead that the consumer has taken: a cache on the way may deliver a page twice. */
  isNew({ createdAt, automation_trigger_id }: Lead): boolean {
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

  /** What to save; undefined before the first response. */
  checkpoint(notBefore: number | undefined): Checkpoint | undefined {
    if (this.since === undefined) return undefined;
    return {
      since: this.since,
      triggerIds: [...this.#triggerIds],
      ...(notBefore !== undefined && { notBefore: new Date(Math.ceil(notBefore)).toISOString() }),
    };
  }
}
