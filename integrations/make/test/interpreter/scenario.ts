import { type App, readApp } from './app.ts';
import { evaluateText, type Variables } from './iml.ts';
import { inherit } from './merge.ts';
import { type ErrorType, MakeError, send } from './request.ts';
import { poll, type ReadsUntil, readItems, type TriggerData } from './trigger.ts';

export interface Connection {
  readonly baseUrl: string;
  readonly token: string;
}

/** Saves a connection: Make sends its request first, and shows its metadata beside its name. */
export async function testConnection(parameters: Connection, app: App = readApp()): Promise<string> {
  const communication = inherit(app.connection.communication);
  const answer = await send(communication, communication.url ?? '', { parameters });
  return evaluateText(communication.response?.metadata?.value, { parameters, ...answer });
}

export interface Choice {
  readonly label: string;
  readonly date: string;
}

/** What the panel "Choose where to start" lists. */
export async function listChoices(connection: Connection, app: App = readApp()): Promise<Choice[]> {
  const { communication, epoch } = app.trigger;
  const variables: Variables = { connection, parameters: {}, data: {} };
  const items = await readItems(inherit(app.base, communication, epoch), variables, 'limit');
  return items.map(({ bundle }) => bundle as Choice);
}

export interface ScenarioOptions {
  readonly connection: Connection;
  /** The date that the user chose to start from; "All" is 1970-01-01. */
  readonly startAt: string;
  readonly limit?: number;
  readonly readsUntil?: ReadsUntil;
  readonly app?: App;
}

export type Run =
  | { readonly kind: 'done'; readonly bundles: readonly unknown[] }
  /** Make tries again later by itself; the scenario stays on. */
  | { readonly kind: 'delayed'; readonly error: MakeError }
  | { readonly kind: 'failed'; readonly error: MakeError };

export const DELAYS: ReadonlySet<ErrorType> = new Set(['RateLimitError', 'ConnectionError']);
const SWITCHES_OFF: ReadonlySet<ErrorType> = new Set([
  'InvalidConfigurationError',
  'InvalidAccessTokenError',
]);
const ERRORS_IN_A_ROW = 3;

/** A scenario that starts with the trigger, as Make runs it on its schedule. */
export class Scenario {
  connection: Connection;
  limit: number;
  /** Kept by Make, whatever is restarted. */
  data: TriggerData;
  active = true;
  readonly #app: App;
  readonly #readsUntil: ReadsUntil;
  #errors = 0;

  constructor({ connection, startAt, limit, readsUntil = 'limit', app = readApp() }: ScenarioOptions) {
    this.#app = app;
    this.connection = connection;
    this.data = { lastDate: startAt };
    this.#readsUntil = readsUntil;
    this.limit = limit ?? Number(app.trigger.staticParams.find(({ name }) => name === 'limit')?.default);
  }

  /**
   * One run. What was read counts as processed once the whole run has succeeded: if a later module fails, Make rolls back
   * and reads the same again.
   */
  async run(process: (bundle: unknown) => void = () => undefined): Promise<Run> {
    try {
      const communication = inherit(this.#app.base, this.#app.trigger.communication);
      const parameters = { limit: this.limit };
      const variables = { connection: this.connection, parameters, data: this.data };
      const { items, data } = await poll(communication, variables, this.#readsUntil);
      for (const { bundle } of items) process(bundle);
      this.data = data;
      this.#errors = 0;
      return { kind: 'done', bundles: items.map(({ bundle }) => bundle) };
    } catch (error) {
      if (error instanceof MakeError) return this.#failed(error);
      throw error;
    }
  }

  #failed(error: MakeError): Run {
    if (DELAYS.has(error.type)) return { kind: 'delayed', error };
    this.#errors += 1;
    if (SWITCHES_OFF.has(error.type) || this.#errors >= ERRORS_IN_A_ROW) this.active = false;
    return { kind: 'failed', error };
  }
}
