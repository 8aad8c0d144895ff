import type { Lead } from '@leadtap/contract';
import { vi } from 'vitest';
import type { ReceivedEvent } from '../../../packages/testing/integrations/hook-receiver.ts';
import type { Connection } from '../../../packages/testing/integrations/new-leads.ts';

interface Methods {
  readonly [name: string]: (...values: never[]) => unknown;
}

interface Source {
  readonly dedupe: string;
  readonly props: Readonly<Record<string, unknown>>;
  readonly methods: Methods;
  readonly hooks: Readonly<Record<'deploy' | 'activate' | 'deactivate', (this: object) => Promise<void>>>;
  run(this: object, event: object): Promise<void>;
}

const { default: component }: { default: Source } = await import(
  new URL('../new-lead.mjs', import.meta.url).href
);

export { component };

/** As many ids as Pipedream compares when it de-duplicates by `unique`, and as many characters of each. */
const REMEMBERED_IDS = 100;
const COMPARED_CHARACTERS = 64;

/** What sources have logged. */
export const logged: string[] = [];

/** A source that was made of the component, as Pipedream runs it. */
export class PipedreamSource {
  connection: Connection;
  /** Where Pipedream receives requests for it. Leadtap sends nothing to the default. */
  endpoint = 'http://127.0.0.1/not-allowed';
  readonly db = new Map<string, unknown>();
  readonly emitted: Lead[] = [];
  readonly errors: Error[] = [];
  readonly #ids: string[] = [];
  /** The runs for requests, and what responds to each. */
  readonly #running = new Map<Promise<void>, (status: number) => void>();

  constructor(connection: Connection) {
    this.connection = connection;
    vi.spyOn(console, 'log').mockImplementation((line) => void logged.push(line));
  }

  deploy = (): Promise<void> => component.hooks.deploy.call(this.#self());
  activate = (): Promise<void> => component.hooks.activate.call(this.#self());
  deactivate = (): Promise<void> => component.hooks.deactivate.call(this.#self());

  /** For the timer. */
  run = (): Promise<void> => component.run.call(this.#self(), { timestamp: 1, interval_seconds: 900 });

  /** For a request to its endpoint. Resolves with the status as soon as the source responds. */
  receive = ({ method, headers, text }: Pick<ReceivedEvent, 'method' | 'headers' | 'text'>) =>
    new Promise<number>((resolve) => {
      const event = { method, path: '/', query: {}, headers, bodyRaw: text, body: JSON.parse(text) };
      const run = component.run
        .call(this.#self(resolve), event)
        .catch((error: Error) => void this.errors.push(error))
        .finally(() => {
          this.#running.delete(run);
          // Pipedream responds by itself if the source has not.
          resolve(200);
        });
      this.#running.set(run, resolve);
    });

  /** Resolves when no run for a request is under way: a source may respond before it has read the last page. */
  async idle(): Promise<void> {
    await Promise.all(this.#running.keys());
  }

  /** Pipedream has ended its process. */
  kill(): void {
    for (const respond of this.#running.values()) respond(500);
    this.#running.clear();
  }

  #self(respond: (status: number) => void = () => undefined): object {
    return {
      ...component.methods,
      ...this.connection,
      http: { endpoint: this.endpoint, respond: ({ status }: { status: number }) => respond(status) },
      db: {
        get: (key: string) => this.db.get(key),
        set: (key: string, value: unknown) => this.db.set(key, value),
      },
      $emit: (lead: Lead, { id }: { id: string }) => this.#emit(lead, id.slice(0, COMPARED_CHARACTERS)),
    };
  }

  #emit(lead: Lead, id: string): void {
    if (this.#ids.includes(id)) return;
    this.#ids.push(id);
    if (this.#ids.length > REMEMBERED_IDS) this.#ids.shift();
    this.emitted.push(lead);
  }
}
