import { TriggerStrategy } from '@activepieces/pieces-framework';
import { AppConnectionType } from '@activepieces/shared';
import { type Connection, type Lead, newLead } from './piece.ts';

/** What Activepieces keeps for a flow: JSON, whatever is restarted. */
export type Memory = Map<string, string>;

const storeOver = (memory: Memory) => ({
  put: async <T>(key: string, value: T): Promise<T> => {
    memory.set(key, JSON.stringify(value));
    return value;
  },
  get: async <T>(key: string): Promise<T | null> => JSON.parse(memory.get(key) ?? 'null'),
  delete: async (key: string) => void memory.delete(key),
});

function notUsed(): never {
  throw new Error('the piece does not use this part of Activepieces');
}

/** A flow that starts with the piece's trigger; its hooks are called as the engine of Activepieces calls them. */
export class Flow {
  connection: Connection;
  readonly memory: Memory;
  readonly #startAt: string | undefined;

  constructor(connection: Connection, startAt?: string, memory: Memory = new Map()) {
    this.connection = connection;
    this.memory = memory;
    this.#startAt = startAt;
  }

  get #trigger() {
    if (newLead.type !== TriggerStrategy.POLLING) throw new Error('the trigger does not poll');
    return newLead;
  }

  get #context() {
    return {
      auth: { type: AppConnectionType.CUSTOM_AUTH as const, props: { ...this.connection } },
      propsValue: { startAt: this.#startAt },
      store: storeOver(this.memory),
      flows: { list: notUsed, current: { id: 'flow', version: { id: 'version' } } },
      step: { name: 'trigger' },
      project: { id: 'project', externalId: notUsed },
      connections: { get: notUsed },
      server: { apiUrl: '', publicUrl: '', token: '' },
      files: { write: notUsed },
      setSchedule: notUsed,
    };
  }

  enable = (): Promise<void> => this.#trigger.onEnable(this.#context);
  disable = (): Promise<void> => this.#trigger.onDisable(this.#context);
  poll = async (): Promise<Lead[]> => (await this.#trigger.run(this.#context)) as Lead[];
  sample = async (): Promise<Lead[]> => (await this.#trigger.test(this.#context)) as Lead[];
}
