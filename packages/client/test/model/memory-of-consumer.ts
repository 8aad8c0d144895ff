import type { Checkpoint, CheckpointStore, Lead } from '@leadtap/client';
import type { Run } from './run.ts';
import type { Handling } from './schedule.ts';

/** What survives the death of the consumer's process. */
export class MemoryOfConsumer {
  /** The leads that were taken, over all restarts. */
  readonly taken: Lead[] = [];
  readonly #triggerIds = new Set<string>();
  readonly #isTransactional: boolean;
  #saved: string | undefined;

  constructor(isTransactional: boolean) {
    this.#isTransactional = isTransactional;
  }

  take(lead: Lead): void {
    this.taken.push(lead);
    this.#triggerIds.add(lead.automation_trigger_id);
  }

  has(lead: Lead): boolean {
    return this.#triggerIds.has(lead.automation_trigger_id);
  }

  /** With a transaction, the checkpoint is what was taken; else it is what the client saved. */
  load(): Checkpoint | undefined {
    const saved = this.#saved === undefined ? undefined : (JSON.parse(this.#saved) as Checkpoint);
    const last = this.taken.at(-1);
    if (!this.#isTransactional || !last) return saved;
    return { ...saved, since: last.createdAt, triggerIds: [last.automation_trigger_id] };
  }

  /** @param death how the process dies while it saves, if it does */
  store(run: Run, saving: (checkpoint: Checkpoint) => Handling | undefined): CheckpointStore {
    return run.store({
      load: () => this.load(),
      save: (checkpoint) => {
        const death = saving(checkpoint);
        if (death === 'killed-before-save') return run.kill();
        this.#saved = JSON.stringify(checkpoint);
        if (death === 'killed-after-save') run.kill();
      },
    });
  }
}
