import type { Lead } from '@leadtap/contract';
import type { Connection } from '../../../packages/testing/integrations/new-leads.ts';

interface Methods {
  readonly [name: string]: (...values: never[]) => unknown;
}

interface Source {
  readonly dedupe: string;
  readonly props: Readonly<Record<string, unknown>>;
  readonly methods: Methods;
  readonly hooks: { deploy(this: object): Promise<void> };
  run(this: object): Promise<void>;
}

const { default: component }: { default: Source } = await import(
  new URL('../new-lead.mjs', import.meta.url).href
);

export { component };

/** As many ids as Pipedream compares when it de-duplicates by `unique`, and as many characters of each. */
const REMEMBERED_IDS = 100;
const COMPARED_CHARACTERS = 64;

/** A source that was made of the component, as Pipedream runs it. */
export class PipedreamSource {
  connection: Connection;
  readonly db = new Map<string, unknown>();
  readonly emitted: Lead[] = [];
  readonly #ids: string[] = [];

  constructor(connection: Connection) {
    this.connection = connection;
  }

  deploy = (): Promise<void> => component.hooks.deploy.call(this.#self());
  run = (): Promise<void> => component.run.call(this.#self());

  #self(): object {
    return {
      ...component.methods,
      ...this.connection,
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
