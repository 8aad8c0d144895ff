import type { ReceivedEvent } from '../../../../packages/testing/integrations/hook-receiver.ts';
import { type App, readApp } from './app.ts';
import { evaluate, evaluateText } from './iml.ts';
import { inherit } from './merge.ts';
import { MakeError, send } from './request.ts';
import { type Connection, DELAYS } from './scenario.ts';
import { readItems } from './trigger.ts';

/** What the instant module passes on. */
export interface Window {
  readonly since: string;
  readonly through: string;
  readonly eventId: string;
}

export interface InstantScenarioOptions {
  readonly connection: Connection;
  /** The address that Make has for the webhook. */
  readonly url: string;
  /** The modules after List Leads. */
  readonly process: (bundle: unknown) => void;
  /** For the retries of incomplete executions. Default: all are due. */
  readonly now?: () => number;
  readonly app?: App;
}

interface IncompleteExecution {
  readonly window: Window;
  readonly retries: number;
  readonly dueAt: number;
}

/** https://help.make.com/automatic-retry-of-incomplete-executions */
const RETRY_AFTER_MINUTES = [1, 10, 10, 30, 30, 30, 180, 180];

/**
 * A scenario of Watch Lead Events and List Leads, with incomplete executions stored. Make accepts an event, runs the scenario at
 * once, and keeps the bundles of a run that failed for a reason that may pass, to continue it later at the module that failed.
 */
export class InstantScenario {
  connection: Connection;
  active = true;
  /** Why it was switched off. */
  error: MakeError | undefined;
  incomplete: IncompleteExecution[] = [];
  /** What attach kept. */
  data: Readonly<Record<string, string>> = {};
  readonly #options: InstantScenarioOptions;
  readonly #app: App;

  constructor(options: InstantScenarioOptions) {
    this.#options = options;
    this.#app = options.app ?? readApp();
    this.connection = options.connection;
  }

  get url(): string {
    return this.#options.url;
  }

  /** Somebody creates the webhook in the instant module. */
  async attach(): Promise<void> {
    const communication = inherit(this.#app.base, this.#app.webhook.attach);
    const variables = { connection: this.connection, webhook: { url: this.url } };
    const answer = await send(communication, communication.url ?? '', variables);
    const kept = Object.entries(communication.response?.data ?? {});
    this.data = Object.fromEntries(
      kept.map(([name, value]) => [name, evaluateText(value, { ...variables, ...answer })]),
    );
  }

  /** Somebody deletes the webhook. */
  async detach(): Promise<void> {
    const communication = inherit(this.#app.base, this.#app.webhook.detach);
    const webhook = { url: this.url, ...this.data };
    await send(communication, communication.url ?? '', { connection: this.connection, webhook });
  }

  /** Make continues the incomplete executions that are due. */
  async retry(): Promise<void> {
    const { now = () => Number.POSITIVE_INFINITY } = this.#options;
    const due = this.incomplete.filter(({ dueAt }) => dueAt <= now());
    this.incomplete = this.incomplete.filter((execution) => !due.includes(execution));
    for (const { window, retries } of due) await this.#run(window, retries + 1);
  }

  /** An event has arrived at the address. */
  async receive({ headers, event }: ReceivedEvent): Promise<void> {
    const { condition, output } = this.#app.webhook.communication;
    const variables = { headers, body: event };
    if (!evaluate(condition, variables)) return;
    await this.#run(evaluate(output, variables) as Window);
  }

  async #run(window: Window, retries = 0): Promise<void> {
    if (!this.active) return this.#keep(window, retries);
    try {
      const communication = inherit(this.#app.base, this.#app.list.communication);
      const variables = { connection: this.connection, parameters: window };
      const items = await readItems(communication, variables, 'limit');
      for (const { bundle } of items) this.#options.process(bundle);
    } catch (error) {
      if (!(error instanceof MakeError)) throw error;
      this.#keep(window, retries);
      this.error = error;
      if (!DELAYS.has(error.type)) this.active = false;
    }
  }

  #keep(window: Window, retries: number): void {
    const { now = () => 0 } = this.#options;
    const minutes = RETRY_AFTER_MINUTES[retries] ?? Number.POSITIVE_INFINITY;
    this.incomplete.push({ window, retries, dueAt: now() + minutes * 60_000 });
  }
}
