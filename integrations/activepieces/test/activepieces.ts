import { DEDUPE_KEY_PROPERTY, TriggerStrategy } from '@activepieces/pieces-framework';
import { AppConnectionType, type TriggerPayload } from '@activepieces/shared';
import type { ReceivedEvent } from '../../../packages/testing/integrations/hook-receiver.ts';
import { type Connection, type Lead, newLead, newLeadInstant } from './piece.ts';

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

const contextOf = (connection: Connection, memory: Memory, startAt: string | undefined) => ({
  auth: { type: AppConnectionType.CUSTOM_AUTH as const, props: { ...connection } },
  propsValue: { startAt },
  store: storeOver(memory),
  flows: { list: notUsed, current: { id: 'flow', version: { id: 'version' } } },
  step: { name: 'trigger' },
  project: { id: 'project', externalId: notUsed },
  connections: { get: notUsed },
  server: { apiUrl: '', publicUrl: '', token: '' },
  files: { write: notUsed },
  setSchedule: notUsed,
});

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
    return contextOf(this.connection, this.memory, this.#startAt);
  }

  enable = (): Promise<void> => this.#trigger.onEnable(this.#context);
  disable = (): Promise<void> => this.#trigger.onDisable(this.#context);
  poll = async (): Promise<Lead[]> => (await this.#trigger.run(this.#context)) as Lead[];
  sample = async (): Promise<Lead[]> => (await this.#trigger.test(this.#context)) as Lead[];
}

/** For so long Activepieces drops payloads with a key that it has seen. */
const DEDUPE_MS = 30_000;

type Payload = Lead & { readonly id: string; readonly [DEDUPE_KEY_PROPERTY]?: string };

/**
 * A flow that starts with the instant trigger. Activepieces accepts a request, queues it, and runs the trigger later (`work`). A run
 * that fails is not repeated.
 */
export class InstantFlow {
  connection: Connection;
  webhookUrl = '';
  status: 'enabled' | 'disabled' | 'deleted' = 'disabled';
  startAt: string | undefined;
  readonly memory: Memory;
  /** The leads that the flow was started for. */
  readonly started: { readonly id: string }[] = [];
  readonly errors: string[] = [];
  readonly queue: TriggerPayload[] = [];
  readonly #seen = new Map<string, number>();
  readonly #now: () => number;

  constructor(
    connection: Connection,
    { memory = new Map(), now = Date.now }: { memory?: Memory; now?: () => number } = {},
  ) {
    this.connection = connection;
    this.memory = memory;
    this.#now = now;
  }

  get trigger() {
    if (newLeadInstant.type !== TriggerStrategy.WEBHOOK) throw new Error('the trigger is not a webhook');
    return newLeadInstant;
  }

  #context(payload: TriggerPayload = { body: {}, headers: {}, queryParams: {} }) {
    return { ...contextOf(this.connection, this.memory, this.startAt), webhookUrl: this.webhookUrl, payload };
  }

  async enable(isRepublish = false): Promise<void> {
    await this.trigger.onEnable({ ...this.#context(), ...(isRepublish && { isRepublish }) });
    this.status = 'enabled';
  }

  async disable(): Promise<void> {
    await this.trigger.onDisable(this.#context());
    this.status = 'disabled';
  }

  renew = (): Promise<void> => this.trigger.onRenew(this.#context());
  sample = async (): Promise<Lead[]> => (await this.trigger.test(this.#context())) as Lead[];

  receive = ({ headers, text }: Pick<ReceivedEvent, 'headers' | 'text'>): number => {
    if (this.status !== 'enabled') return this.status === 'deleted' ? 410 : 404;
    const plain = Object.entries(headers).map(([name, value]) => [name, String(value)]);
    this.queue.push({
      body: JSON.parse(text),
      rawBody: text,
      headers: Object.fromEntries(plain),
      queryParams: {},
    });
    return 200;
  };

  /** The workers take all that is queued at once. */
  async work(): Promise<void> {
    await Promise.all(
      this.queue.splice(0).map(async (payload) => {
        try {
          this.#start((await this.trigger.run(this.#context(payload))) as Payload[]);
        } catch (error) {
          this.errors.push(String(error));
        }
      }),
    );
  }

  #start(payloads: readonly Payload[]): void {
    for (const { [DEDUPE_KEY_PROPERTY]: key = '', ...lead } of payloads) {
      const isRepeated = this.#now() < (this.#seen.get(key) ?? 0);
      if (isRepeated) continue;
      this.#seen.set(key, this.#now() + DEDUPE_MS);
      this.started.push(lead);
    }
  }
}
